import type * as z from "zod";
import { AppError } from "./errors";
import { parseJson } from "./json";

/** The largest accepted request body, in bytes. */
const MAX_BODY_BYTES = 1024 * 1024;

/**
 * The request's body as text, read no further than the limit.
 * @throws AppError `too_large` above 1 MiB, by its declared or its real length.
 */
export async function readBody(request: Request): Promise<string> {
  const tooLarge = () => new AppError("too_large", "The request body must not be larger than 1 MiB");
  if (Number(request.headers.get("content-length") ?? 0) > MAX_BODY_BYTES) throw tooLarge();
  if (request.body === null) return "";
  const reader = request.body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    bytes += value.byteLength;
    if (bytes > MAX_BODY_BYTES) {
      await reader.cancel();
      throw tooLarge();
    }
    text += decoder.decode(value, { stream: true });
  }
}

/**
 * The raw input of a request: its query for GET (and HEAD), its JSON object for POST (nothing sent is `{}`), whatever the
 * content type says. Half characters, as clients make them who cut texts anywhere, become the replacement character.
 * @throws AppError `invalid_request` when the body is no JSON object.
 */
export function rawInput(request: Request, body: string): Record<string, unknown> {
  if (request.method !== "POST") return Object.fromEntries(new URL(request.url).searchParams);
  if (body.trim() === "") return {};
  let parsed: unknown;
  try {
    parsed = parseJson(body);
  } catch {
    throw new AppError("invalid_request", "The request body is not valid JSON");
  }
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) {
    throw new AppError("invalid_request", "The request body must be a JSON object");
  }
  return { ...parsed };
}

/**
 * Checks the raw input against an endpoint's schema.
 * @throws AppError `invalid_request` naming the first field that is missing or malformed.
 */
export function parseInput<Shape extends z.ZodType>(
  shape: Shape,
  raw: Record<string, unknown>,
): z.output<Shape> {
  const parsed = shape.safeParse(raw);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const field = issue?.path.join(".") ?? "";
  if (issue === undefined || field === "") throw new AppError("invalid_request", "The input is malformed");
  const missing = valueAt(raw, issue.path) === undefined || valueAt(raw, issue.path) === null;
  const problem = missing ? "is required" : issue.message;
  throw new AppError("invalid_request", `${field} ${problem}`);
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (inner, key) => (typeof inner === "object" && inner !== null ? Reflect.get(inner, key) : undefined),
    value,
  );
}
