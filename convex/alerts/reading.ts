import type { ActionCtx } from "../_generated/server";
import type { Fact } from "../evidence/tables";
import { payerOf } from "../lib/limits/payers";
import { optional } from "../lib/env";
import { failureOf } from "../lib/errors";
import type { Caller } from "../lib/limits/callers";
import { charge } from "../lib/limits/charges";
import { mentionsIn, namesOf } from "../lib/money/names";
import { deadlines } from "../lib/outside/deadlines";
import { plain } from "../lib/text/sentences";
import type { Doubt } from "./cards";
import { readLine, type Line } from "./lines";
import { SAID } from "./words";

/**
 * From a person's words in any language to a line of the grammar: a model restates them, the grammar reads the line, and
 * its numbers and coin have to be those of the words. Whatever else the model may get wrong stands on the card that the
 * person confirms. For actions.
 */

export type Reading =
  | { kind: "line"; line: Line; readBy: "grammar" | "model" }
  /** They ask for an alert, but leave something open. */
  | ({ kind: "open" } & Doubt)
  /** They ask for no alert, or could not be read: there is no model, or it failed. */
  | { kind: "none" | "unread"; say: string };

/**
 * @param isCounted Whether the model's call is counted already.
 * @param facts Of the lists of the market, with the names of coins.
 * @throws AppError `rate_limited`
 */
export async function readWords(
  ctx: ActionCtx,
  words: string,
  { caller, isCounted, facts }: { caller: Caller; isCounted: boolean; facts: readonly Fact[] },
): Promise<Reading> {
  const own = readLine(words);
  if (own !== null) return { kind: "line", line: own, readBy: "grammar" };
  const restated = await restate(ctx, words, caller, isCounted);
  if (restated === null) return { kind: "unread", say: SAID.unread };
  const { line, ask } = restated;
  const read = line === null ? null : readLine(line);
  if (read !== null) {
    const say = difference(read, words, facts);
    return say === null ? { kind: "line", line: read, readBy: "model" } : { kind: "open", say };
  }
  if (line === null && ask === null) return { kind: "none", say: SAID.none };
  return { kind: "open", say: ask ?? "I could not read that." };
}

/** How a line differs from the words in its coin or its numbers, as a question; `null` if it does not. */
export function difference(line: Line, words: string, facts: readonly Fact[]): string | null {
  const { condition, level, hours } = line;
  const text = plain(words).normalize("NFKC");
  if (condition.kind === "digest") {
    const [hour = 0, minute = 0] = condition.time.split(":").map(Number);
    const said = digitsIn(text.replaceAll(condition.timeZone, " "));
    const isSaid = said.includes(digits(hour)) || said.includes(digits(hour % 12));
    const allowed = [digits(hour), digits(hour % 12), digits(minute), ""];
    return isSaid &&
      said.every((one) => allowed.includes(one)) &&
      (minute === 0 || said.includes(digits(minute)))
      ? null
      : `I read ${condition.time}, and your words say another time: write it like 07:30.`;
  }
  const { token } = condition;
  if (!isNamed(token, text, facts))
    return `I read ${token}, and your words do not name it: name the coin by its symbol.`;
  // Digits of a name do not belong to an amount, nor does the one of “1 ETH”: 1INCH, BTC/USDT.
  const own = symbol(token);
  const said = digitsIn(text.replace(own, "§").replace(/(?<![\w.,])1 §/, "§"));
  if (!said.includes(digits(level)))
    return `I read ${level.toLocaleString("en-US", { maximumFractionDigits: 12 })}, and your words have no such number: write it in digits.`;
  const spans = hours === null ? [] : [hours, hours / 24, hours / 168].map(digits);
  const other = said.find((one) => one !== "" && one !== digits(level) && !spans.includes(one));
  return other === undefined
    ? null
    : "I read one number, and your words have another one: send each alert on its own, with one number.";
}

/** Thousands are grouped by commas, points, apostrophes or spaces. */
const NUMBER = /\d+(?:[.,'’ ]\d{3}(?!\d))*(?:[.,]\d+)?/g;

/** The significant digits of each number of a text, without zeros at either end: `12万` and `120,000` have the same. */
function digitsIn(text: string): string[] {
  return (text.match(NUMBER) ?? []).map(significant);
}
const significant = (number: string): string => number.replace(/\D/g, "").replace(/^0+|0+$/g, "");
const digits = (value: number): string => significant(Math.abs(value).toFixed(12));

function isNamed(token: string, text: string, facts: readonly Fact[]): boolean {
  if (text.search(symbol(token)) !== -1) return true;
  const names = namesOf(facts);
  return [text, text.toLowerCase()].some((one) =>
    mentionsIn(one, names).some(({ subject }) => subject.toUpperCase() === token),
  );
}

/** A symbol as a separate word: in scripts without spaces, letters stand beside it. */
const symbol = (token: string): RegExp =>
  new RegExp(`(?<![A-Za-z\\d])${token.replaceAll(".", "\\.")}(?![A-Za-z\\d])`, "gi");

/** The model's restatement of the words; `null` if there is no model, or if it fails. */
async function restate(ctx: ActionCtx, words: string, caller: Caller, isCounted: boolean) {
  if (optional("LLM_GATEWAY_API_KEY") === undefined) return null;
  if (!isCounted) await charge(ctx, "chat", caller);
  const { completeStructured } = await import("../providers/models/structure");
  const { restatementQuestion } = await import("./prompts");
  const patience = { turnMs: deadlines.alertWords, attempts: 1, payer: payerOf(caller) };
  try {
    return (await completeStructured(ctx, restatementQuestion(words), patience)).value;
  } catch (error) {
    if (failureOf(error)?.code !== "upstream") throw error;
    return null;
  }
}
