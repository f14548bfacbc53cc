/** Part of the stand-ins for local use: HTTP helpers of all of them. */

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
  /** The same before it was decoded, if it came over a connection. */
  bytes?: ArrayBuffer;
};

/** The fields of a form with files (`multipart/form-data`); `null` for another body, or a broken one. */
export async function formOf({ headers, bytes }: Call): Promise<Record<string, unknown> | null> {
  const type = headers.get("Content-Type") ?? "";
  if (!type.startsWith("multipart/form-data") || bytes === undefined) return null;
  try {
    const form = await new Response(bytes, { headers: { "Content-Type": type } }).formData();
    return Object.fromEntries(form.entries());
  } catch {
    return null;
  }
}

/** The connection fails instead of an answer: what `fetch` reports as a TypeError. */
export class ConnectionLost extends TypeError {}

export function json(body: unknown, status = 200, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify(body), {
    status,
    headers: { "Content-Type": "application/json", ...headers },
  });
}

/** The bearer token of a request, or `null`. */
export function bearer(headers: Headers): string | null {
  return /^Bearer\s+(\S+)$/i.exec(headers.get("Authorization") ?? "")?.[1] ?? null;
}

/** The first problem of a rejected body, in one line. */
export function problemOf(error: z.ZodError): string {
  const issue = error.issues[0];
  if (issue === undefined) return "invalid body";
  return `${issue.path.join(".") || "body"}: ${issue.message}`;
}

/** Language models are billed by tokens of about four characters. */
export const CHARACTERS_PER_TOKEN = 4;

export function tokensOf(text: string): number {
  return Math.ceil(text.length / CHARACTERS_PER_TOKEN);
}
