import * as z from "zod";

/** Shapes that several endpoints take. Every string is trimmed; messages complete the sentence "<field> …". */

/** 1 to 128 printable characters: the caller's only credential, never logged. */
export const userId = z
  .string("must be a string")
  .trim()
  .min(1, "is required")
  .max(128, "must be at most 128 characters")
  .regex(/^[^\p{C}]+$/u, "must consist of printable characters")
  .describe("The caller's id and only credential: choose a long random one.");

const symbol = z
  .string("must be a string")
  .trim()
  .toUpperCase()
  .regex(/^[A-Z0-9][A-Z0-9.$-]{0,19}$/, "must be a token symbol such as BTC (at most 20 characters)");

/** A token symbol, upper-cased. */
export const token = symbol.describe("Token symbol, for example BTC.");

/** A token symbol that may be left out; an empty one counts as left out. */
export const optionalToken = absentWhenEmpty(symbol).describe(
  "Token symbol to focus on; omit for the whole market.",
);

/** A messenger chat: a numeric id (negative for groups), as a string or number, or "@channel". */
export const chatId = z
  .union([z.string(), z.int()], "must be a chat id")
  .transform((value) => String(value).trim())
  .pipe(z.string().regex(/^(?:-?\d{1,20}|@[A-Za-z0-9_]{4,64})$/, "must be a numeric chat id or @channel"))
  .describe("Messenger chat id.");

/** Makes a field optional and treats `""` and `null` as left out. */
export function absentWhenEmpty<Shape extends z.ZodType>(shape: Shape) {
  return z.preprocess((value) => (value === "" || value === null ? undefined : value), shape.optional());
}

/** The first of several names under which a field is accepted, moved to its proper name. */
export function withAliases<Shape extends z.ZodType>(aliases: Record<string, string>, shape: Shape) {
  return z.preprocess((value) => {
    if (typeof value !== "object" || value === null) return value;
    const fields: Record<string, unknown> = { ...value };
    for (const [alias, name] of Object.entries(aliases)) {
      if (fields[name] === undefined && fields[alias] !== undefined) fields[name] = fields[alias];
      delete fields[alias];
    }
    return fields;
  }, shape);
}

/** The body's alternative to the Idempotency-Key header. */
export const idempotencyKey = absentWhenEmpty(
  z.string("must be a string").trim().min(1).max(200, "must be at most 200 characters"),
).describe(
  "Repeating a call with the same key returns its first outcome; the Idempotency-Key header does the same.",
);
