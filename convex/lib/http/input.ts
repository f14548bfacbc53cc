import * as z from "zod";
import { MAX_USER_ID, NOT_SHARED, PRINTABLE, SHARED_ID } from "../records/ids";
import { inAnyCase, symbolIn, waysToWrite, WRITTEN } from "../money/tokens";

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
export const userId = text(MAX_USER_ID)
  .regex(PRINTABLE, "must consist of printable characters")
  .refine((id) => id !== SHARED_ID, NOT_SHARED)
  .describe(
    "The caller's id and only credential, a bearer secret: choose a long random one and keep it; whoever knows it acts for its owner.",
  );

/** A token's symbol or name that may be left out; an empty one counts as left out. Which name it is, the sources tell. */
export const optionalToken = absentWhenEmpty(
  atMost(60)
    .trim()
    .min(1, "must not be blank")
    .regex(/^[^\p{C}\uFFFD]+$/u, "must be a token's symbol or name, in printable characters")
    .overwrite(symbolIn),
).describe(
  "Token to focus on, by its symbol or its name: btc, $BTC, BTC/USDT and Bitcoin all mean BTC, Shiba Inu means SHIB; omit for the whole market.",
);

/** One of a few tokens, however it is written. */
export function tokenOf<const Symbols extends readonly [string, ...string[]]>(
  symbols: Symbols,
  problem: string,
) {
  return z
    .string("must be a string")
    .trim()
    .regex(new RegExp(`^${WRITTEN}$`), problem)
    .overwrite(symbolIn)
    .pipe(z.enum(symbols, problem))
    .meta({
      accepts: () => ({ anyOf: [{ enum: [...symbols] }, { type: "string", pattern: waysToWrite(symbols) }] }),
    });
}

/** A messenger chat: a numeric id (negative for groups), as a string or number, or "@channel". */
export const chatId = z
  .union(
    [
      z
        .string()
        .trim()
        // One spelling each: the messenger reads 05151 as 5151, and ids have 52 bits.
        .regex(/^(?:-?[1-9]\d{0,15}|@[A-Za-z0-9_]{4,64})$/, "must be a numeric chat id or @channel"),
      z.int(),
    ],
    "must be a numeric chat id or @channel",
  )
  .transform(String)
  .describe("Messenger chat: its numeric id (negative for groups), or @channel.");

/** Makes a field optional and treats `""`, `null` and what is `alsoEmpty` as left out. */
export function absentWhenEmpty<Shape extends z.ZodType>(shape: Shape, alsoEmpty?: string) {
  const isEmpty = (value: unknown) => value === "" || value === null || value === alsoEmpty;
  return z
    .preprocess((value) => (isEmpty(value) ? undefined : value), shape.optional())
    .meta({ emptyIsAbsent: true });
}

/** A `userId` that may be left out, as it is where a client sends one that is nobody's. */
export const optionalUserId = absentWhenEmpty(userId, SHARED_ID);

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
      accepts: () => ({
        anyOf: [
          { enum: [...symbols] },
          { type: "string", pattern: String.raw`^\s*(?:${symbols.map(inAnyCase).join("|")})\s*$` },
        ],
      }),
    });
}

/** A whole number, as a number or (a query knows nothing else) as its digits. */
export function wholeNumber(min: number, max: number) {
  const problem = `must be a whole number from ${min} to ${max}`;
  const shape = z.int(problem).min(min, problem).max(max, problem);
  return inDigits(shape, "integer", String.raw`^\s*[0-9]{1,16}\s*$`, { minimum: min, maximum: max });
}

/** A number, fractions included, as a number or as its digits. */
export function numberFrom(min: number, max: number) {
  const problem = `must be a number from ${min} to ${max}`;
  const shape = z.number(problem).min(min, problem).max(max, problem);
  const digits = String.raw`^\s*[0-9]{1,16}(?:\.[0-9]{1,16})?\s*$`;
  return inDigits(shape, "number", digits, { minimum: min, maximum: max });
}

function inDigits<Shape extends z.ZodType<number>>(
  shape: Shape,
  type: "integer" | "number",
  pattern: string,
  bounds: { minimum: number; maximum: number },
) {
  const digits = new RegExp(pattern);
  return z
    .preprocess((value) => (typeof value === "string" && digits.test(value) ? Number(value) : value), shape)
    .meta({
      accepts: () => ({
        anyOf: [
          { type, ...bounds },
          { type: "string", pattern, description: "Its digits." },
        ],
      }),
    });
}

/** The same where it may be left out. @param otherwise What it is then. */
export function wholeNumberOr(otherwise: number, min: number, max: number) {
  return absentWhenEmpty(wholeNumber(min, max)).transform((given) => given ?? otherwise);
}

/**
 * The input of what moves money: a field that it does not have is refused rather than ignored, as it may have said that
 * nothing should be moved. Messages complete the sentence "<field> …".
 */
export function closedInput<Fields extends z.core.$ZodLooseShape>(fields: Fields) {
  const known = Object.keys(fields).join(", ");
  return z.strictObject(fields, {
    error: (issue) => {
      if (issue.code !== "unrecognized_keys") return undefined;
      const are = issue.keys.length === 1 ? "is not a field" : "are not fields";
      return `${are} here, where money moves: there are ${known}`;
    },
  });
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
  "Repeating a call with the same key returns its first outcome. The Idempotency-Key header is the same; where both are sent, they must not differ.",
);
