import * as z from "zod";
import { wellFormed } from "../text/strings";

/**
 * The parts that models' answers are made of. Each is plain JSON of the kind it is in the answer, so that a schema can
 * tell it whole; then it brings what `lib/answers` has read into the form that is stored.
 */

/** Nothing is worth more: what claims to be is a slip of units. */
const MAX_USD = 1e15;

/** A price or a worth in USD: positive. */
export const usd = z.number().positive().max(MAX_USD);

/** The same where it may be unknown: what cannot be a worth is no knowledge. */
export const usdOrNull = z
  .number()
  .nullable()
  .overwrite((value) => (usd.safeParse(value).success ? value : null));

/** A rank: 1, 2, 3, … */
export const rank = z.number().int().positive();

/** A short piece of text, trimmed, never empty, well-formed whatever escapes it came with. */
export const text = (max: number) => z.string().overwrite(wellFormed).trim().min(1).overwrite(cutTo(max));

/** A short piece of text on one line, so that in a message it cannot pass for lines of its own. */
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

/** A token symbol as models write it: `btc`, `$BTC` and `BTC` alike. */
export const symbol = z
  .string()
  .overwrite((value) => wellFormed(value.trim().replace(/^\$/, "")).toUpperCase())
  .min(1)
  .max(24);
