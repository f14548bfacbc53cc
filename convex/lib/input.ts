import * as z from "zod";

/** Shapes that several endpoints take. Every string is trimmed; messages complete the sentence "<field> …". */

/**
 * A string of at most `max` characters, counted as code points like JSON Schema's `maxLength`, blanks around it
 * included.
 */
export function atMost(max: number) {
  return z
    .string("must be a string")
    .refine(
      (value) => value.length <= max || Array.from(value).length <= max,
      `must be at most ${max} characters`,
    )
    .meta({ maxLength: max });
}

/** Trimmed text of 1 to `max` characters. */
export function text(max: number) {
  return atMost(max).trim().min(1, "is required");
}

/**
 * 1 to 128 printable characters: the caller's only credential, never logged. None of them stands for one that was lost on
 * the way: two ids must not become one.
 */
export const userId = text(128)
  .regex(/^[^\p{C}\uFFFD]+$/u, "must consist of printable characters")
  .describe(
    "The caller's id and only credential, a bearer secret: choose a long random one and keep it; whoever knows it acts for its owner.",
  );

// The case is changed last, so that the pattern tells what is accepted.
const symbol = z
  .string("must be a string")
  .trim()
  .regex(/^[A-Za-z0-9][A-Za-z0-9.$-]{0,19}$/, "must be a token symbol such as BTC (at most 20 characters)")
  .toUpperCase();

/** A token symbol that may be left out; an empty one counts as left out. */
export const optionalToken = absentWhenEmpty(symbol).describe(
  "Token symbol to focus on, in any case; omit for the whole market.",
);

/** A messenger chat: a numeric id (negative for groups), as a string or number, or "@channel". */
export const chatId = z
  .union(
    [
      z
        .string()
        .trim()
        .regex(/^(?:-?\d{1,20}|@[A-Za-z0-9_]{4,64})$/, "must be a numeric chat id or @channel"),
      z.int(),
    ],
    "must be a numeric chat id or @channel",
  )
  .transform(String)
  .describe("Messenger chat: its numeric id (negative for groups), or @channel.");

/** Makes a field optional and treats `""` and `null` as left out. */
export function absentWhenEmpty<Shape extends z.ZodType>(shape: Shape) {
  return z
    .preprocess((value) => (value === "" || value === null ? undefined : value), shape.optional())
    .meta({ emptyIsAbsent: true });
}

/** One of a few symbols, in any case; upper-cased. */
export function symbolOf<const Symbols extends readonly [string, ...string[]]>(
  symbols: Symbols,
  problem: string,
) {
  return z
    .string("must be a string")
    .trim()
    .toUpperCase()
    .pipe(z.enum(symbols, problem))
    .meta({
      accepts: () => ({ anyOf: [{ enum: [...symbols] }, { type: "string", pattern: inAnyCase(symbols) }] }),
    });
}

/** The symbols with blanks around them, their letters in whatever case. */
function inAnyCase(symbols: readonly string[]): string {
  const letter = (upper: string) => `[${upper}${upper.toLowerCase()}]`;
  return String.raw`^\s*(?:${symbols.map((one) => one.replace(/[A-Z]/g, letter)).join("|")})\s*$`;
}

/** A whole number, as a number or (a query knows nothing else) as its digits. */
export function wholeNumber(min: number, max: number) {
  const problem = `must be a whole number from ${min} to ${max}`;
  return z
    .preprocess(
      (value) => (typeof value === "string" && /^\s*\d{1,16}\s*$/.test(value) ? Number(value) : value),
      z.int(problem).min(min, problem).max(max, problem),
    )
    .meta({
      accepts: () => ({
        anyOf: [
          { type: "integer", minimum: min, maximum: max },
          { type: "string", pattern: String.raw`^\s*[0-9]{1,16}\s*$`, description: "Its digits." },
        ],
      }),
    });
}

/** The same where it may be left out. @param otherwise What it is then. */
export function wholeNumberOr(otherwise: number, min: number, max: number) {
  return absentWhenEmpty(wholeNumber(min, max)).transform((given) => given ?? otherwise);
}

/** The first of several names under which a field is accepted, moved to its proper name. */
export function withAliases<Shape extends z.ZodType>(aliases: Record<string, string>, shape: Shape) {
  const rename = (value: unknown) => {
    if (typeof value !== "object" || value === null) return value;
    const fields: Record<string, unknown> = { ...value };
    for (const [alias, name] of Object.entries(aliases)) {
      if (fields[name] === undefined && fields[alias] !== undefined) fields[name] = fields[alias];
      delete fields[alias];
    }
    return fields;
  };
  return z.preprocess(rename, shape).meta({ aliases });
}

/** The body's alternative to the Idempotency-Key header. */
export const idempotencyKey = absentWhenEmpty(
  text(200).regex(/^[^\uFFFD]+$/, "must consist of whole characters"),
).describe(
  "Repeating a call with the same key returns its first outcome; the Idempotency-Key header does the same, and wins.",
);
