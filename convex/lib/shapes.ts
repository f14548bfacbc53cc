import * as z from "zod";

/**
 * A finite number as language models write it: a JSON number, or a string with a currency sign, thousands separators
 * or a percent sign around it. Words, magnitudes ("1.2T") and empty strings are no numbers.
 */
export const looseNumber = z.preprocess((value) => {
  if (typeof value !== "string") return value;
  const signed = value.trim().replace(/^([+-]?)\s*\$/, "$1");
  const digits = (signed.endsWith("%") ? signed.slice(0, -1).trimEnd() : signed).replaceAll(",", "");
  return /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/.test(digits) ? Number(digits) : value;
}, z.number());

/** Nothing is worth more: what claims to be is a slip of units. */
const MAX_USD = 1e15;

/** A price or a worth in USD: positive. */
export const usd = looseNumber.pipe(z.number().positive().max(MAX_USD));

/** A rank: 1, 2, 3, … */
export const rank = looseNumber.pipe(z.number().int().positive());

/** Half a surrogate pair cannot be stored: it becomes the replacement character. */
const wellFormed = z.string().transform((value) => value.replace(/\p{Surrogate}/gu, "\uFFFD"));

/** A short piece of text, trimmed, never empty, well-formed whatever escapes it came with. */
export const text = (max: number) => wellFormed.pipe(z.string().trim().min(1)).transform(cutTo(max));

/** A short piece of text on one line, so that in a message it cannot pass for lines of its own. */
export const line = (max: number) =>
  wellFormed
    .transform((value) => value.replace(/\s+/g, " "))
    .pipe(z.string().trim().min(1))
    .transform(cutTo(max));

/** Cuts to a length without cutting through a character. */
export function cutTo(max: number): (value: string) => string {
  return (value) => {
    if (value.length <= max) return value;
    const end = /\p{Surrogate}/u.test(value.slice(0, max - 1)) ? max - 2 : max - 1;
    return `${value.slice(0, end).trimEnd()}…`;
  };
}

/** One of a few words, in whatever case it comes. */
export function word<const Words extends readonly [string, ...string[]]>(words: Words) {
  return z.preprocess(
    (value) => (typeof value === "string" ? value.trim().toLowerCase() : value),
    z.enum(words),
  );
}

/** A token symbol as models write it: `btc`, `$BTC` and `BTC` alike. */
export const symbol = z.preprocess(
  (value) => (typeof value === "string" ? value.trim().replace(/^\$/, "").toUpperCase() : value),
  wellFormed.pipe(z.string().min(1).max(24)),
);
