import { PRINTABLE } from "../../lib/records/ids";
import { symbolIn, WRITTEN } from "../../lib/money/tokens";

/** What is written behind a command, read as endpoints read it (`lib/http/input`, `whales/shapes`), without their shapes. */

const TOKEN = new RegExp(`^${WRITTEN}$`);
const HOURS = /^\s*[0-9]{1,16}(?:\.[0-9]{1,16})?\s*$/;
const [LEAST_HOURS, MOST_HOURS] = [0.1, 168];
const LONGEST_NAME = 60;

/** One of a few tokens, however it is written; `null` for any other, `undefined` where none is named. */
export function tokenIn<Symbol extends string>(
  symbols: readonly Symbol[],
  argument: string,
): Symbol | null | undefined {
  if (argument === "") return undefined;
  const written = argument.trim();
  if (!TOKEN.test(written)) return null;
  const symbol = symbolIn(written);
  return symbols.find((one) => one === symbol) ?? null;
}

/** A token's symbol or name; empty where none is named, `null` for what can be neither. */
export function focusIn(argument: string): string | null {
  if (argument === "") return "";
  const name = argument.trim();
  return Array.from(argument).length <= LONGEST_NAME && PRINTABLE.test(name) ? symbolIn(name) : null;
}

/** Hours to look back; `null` for too few, too many, or no number. */
export function hoursIn(argument: string, otherwise: number): number | null {
  if (argument === "") return otherwise;
  const hours = HOURS.test(argument) ? Number(argument) : NaN;
  return hours >= LEAST_HOURS && hours <= MOST_HOURS ? hours : null;
}
