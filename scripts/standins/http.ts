/** Part of the stand-ins for local use: their shared HTTP. */

import * as z from "zod";

/** One request to a stand-in, with a path without the stand-in's prefix. */
export type Call = {
  method: string;
  /** Without the query. */
  path: string;
  query: URLSearchParams;
  headers: Headers;
  /** As sent; empty without a body. */
  body: string;
  /** The same before decoding, for forms with files. */
  bytes?: ArrayBuffer;
};

export function sendJson(body: unknown, status = 200, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify(body), {
    status,
    headers: { "Content-Type": "application/json", ...headers },
  });
}

/** The bearer token of a request, or `null`. */
export function getBearer(headers: Headers): string | null {
  return /^Bearer\s+(\S+)$/i.exec(headers.get("Authorization") ?? "")?.[1] ?? null;
}

const part = z.looseObject({ type: z.string(), text: z.string().optional() });

/** A message to a language model: a text, or parts of one. */
export const contentShape = z
  .union([z.string(), z.array(part)])
  .transform((content) =>
    typeof content === "string" ? content : content.map(({ text = "" }) => text).join(""),
  );

/** The first problem of a rejected body, in one line. */
export function findProblem(error: z.ZodError): string {
  const issue = error.issues[0];
  return issue === undefined ? "invalid body" : `${issue.path.join(".") || "body"}: ${issue.message}`;
}

/** Language models are billed by tokens of about four characters. */
const CHARACTERS_PER_TOKEN = 4;

export function countTokens(text: string): number {
  return Math.ceil(text.length / CHARACTERS_PER_TOKEN);
}

/** A model's text, cut where its tokens end. */
export function cutToTokens(whole: string, tokens: number) {
  const text = whole.slice(0, Math.max(0, tokens) * CHARACTERS_PER_TOKEN);
  return { text, isCut: whole.length > text.length };
}
