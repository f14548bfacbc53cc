import * as z from "zod";
import { wellFormed } from "../text/strings";

/**
 * The parts of models' answers. Each is plain JSON in the answer, so that a schema can describe it, and then converts
 * what `lib/answers` has read into the stored form.
 */

/** Nothing is worth more; a larger number is a mistake in the unit. */
const MAX_USD = 1e15;

/** A price or a worth in USD: positive. */
export const usd = z.number().positive().max(MAX_USD);

/** The same, where it may be unknown: a number that cannot be a value counts as unknown. */
export const usdOrNull = z
  .number()
  .nullable()
  .overwrite((value) => (usd.safeParse(value).success ? value : null));

/** A rank: 1, 2, 3, … */
export const rank = z.number().int().positive();

/** A short text, trimmed, never empty, and well-formed whatever escapes it contained. */
export const text = (max: number) => z.string().overwrite(wellFormed).trim().min(1).overwrite(cutTo(max));

/** A short text on one line, so that it cannot imitate other lines of a message. */
export const line = (max: number) =>
  z
    .string()
    .overwrite((value) => wellFormed(value).replace(/\s+/g, " "))
    .trim()
    .min(1)
    .overwrite(cutTo(max));

/** Cuts to a length without cutting through a character. */
function cutTo(max: number): (value: string) => string {
  return (value) => {
    if (value.length <= max) return value;
    const end = /\p{Surrogate}/u.test(value.slice(0, max - 1)) ? max - 2 : max - 1;
    return `${value.slice(0, end).trimEnd()}…`;
  };
}

/** A token symbol as models write it: `btc`, `$BTC` and `BTC` alike; as long as a list of coins may have it. */
export const symbol = z
  .string()
  .overwrite((value) => wellFormed(value.trim().replace(/^\$/, "")).toUpperCase())
  .min(1)
  .max(40);
