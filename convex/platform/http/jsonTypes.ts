import type * as z from "zod";
import { AppError } from "../../lib/errors";
import { parseJson } from "../../lib/text/json";

/**
 * Coerces values of another JSON type. Clients, above all language models, send a list as JSON text, a number as text
 * and an id of digits as a number; a query has only text. A value becomes the type that its schema expects only if it
 * is unambiguous.
 */

type Fields = Record<string, unknown>;

/** The accepted levels of JSON text inside JSON text. */
export const MAX_NESTING = 4;

/**
 * The input with values of a wrong type coerced to the expected one; `null` if none can be.
 * @param issues The schema's issues, with the fields' names as they were sent.
 * @throws AppError `invalid_request` for a number that has lost its digits.
 */
export function coerceFields(input: Fields, issues: readonly z.core.$ZodIssue[]): Fields | null {
  const read: Fields = {};
  for (const issue of issues) {
    const [first, ...inner] = issue.path;
    if (issue.code !== "invalid_type" || first === undefined) continue;
    const meant = coerce(issue.input, issue.expected, issue.path);
    const name = String(first);
    if (meant !== undefined) read[name] = withValue(read[name] ?? input[name], inner, meant);
  }
  return Object.keys(read).length === 0 ? null : { ...input, ...read };
}

function coerce(value: unknown, expected: string, path: readonly PropertyKey[]): unknown {
  if (expected === "string") return parseDigits(value, path);
  if (typeof value !== "string") return undefined;
  const text = value.trim();
  if (expected === "boolean") return { true: true, false: false }[text.toLowerCase()];
  if (expected === "number" || expected === "int")
    return /^-?\d{1,16}(?:\.\d{1,16})?$/.test(text) ? Number(text) : undefined;
  return expected === "array" || expected === "object" ? parseNested(text, expected) : undefined;
}

function parseDigits(value: unknown, path: readonly PropertyKey[]): string | undefined {
  if (!Number.isInteger(value)) return undefined;
  if (Number.isSafeInteger(value)) return String(value);
  const problem = "is too large for a JSON number, which loses its last digits: send it as text, in quotes";
  throw new AppError("invalid_request", `${path.map(String).join(".")} ${problem}`);
}

/** The list or object in a JSON text. */
function parseNested(text: string, expected: "array" | "object"): unknown {
  if (!text.startsWith(expected === "array" ? "[" : "{")) return undefined;
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

/** A copy with another value at the path. The rest is shared with the request's input, and stays unchanged. */
function withValue(within: unknown, [name, ...inner]: readonly PropertyKey[], value: unknown): unknown {
  if (name === undefined) return value;
  if (typeof within !== "object" || within === null) return within;
  const copy: object = Array.isArray(within) ? within.slice() : { ...within };
  Reflect.set(copy, name, withValue(Reflect.get(within, name), inner, value));
  return copy;
}
