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

/** A price in USD: positive. */
export const usd = looseNumber.pipe(z.number().positive());

/** A rank: 1, 2, 3, … */
export const rank = looseNumber.pipe(z.number().int().positive());

/** A short piece of text, trimmed, never empty. */
export const text = (max: number) =>
  z
    .string()
    .trim()
    .min(1)
    .transform((value) => (value.length > max ? `${value.slice(0, max - 1).trimEnd()}…` : value));

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
  z.string().min(1).max(24),
);
