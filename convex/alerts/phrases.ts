import { resolveSymbol } from "../lib/money/coins";
import type { Names } from "../figures/mentions";
import { formatDollars, formatPercent } from "../lib/text/numbers";
import type { Doubt } from "./cards";
import { COIN, formatCondition, isTimed, WINDOWS } from "./grammar";
import type { Condition } from "./tables";

/**
 * Short English phrases that code reads without a model: a coin and a number (`alert btc 100k`), a percentage `from here`,
 * and two such alerts in one message. Every word has to be known; a phrase with any other word is the model's.
 */

const WAYS: ReadonlyMap<string, "up" | "down"> = new Map([
  ..."up above over past beyond exceeds rises gains climbs pumps jumps >"
    .split(" ")
    .map((word) => [word, "up"] as const),
  ..."down below under beneath falls drops dips loses dumps crashes <"
    .split(" ")
    .map((word) => [word, "down"] as const),
]);
/** Words that say nothing about the condition. */
const FILLERS = new Set(
  (
    "a an the me my i alert alerts alarm price set create add make new tell ping notify warn message text let know send " +
    "when if once as soon it is its gets goes get go to at hits hit reaches reach touches for of on by in within please " +
    "pls usd dollars bucks want wanna can you"
  ).split(" "),
);

/** A phrase's parts; `null` for what it does not say. */
export type Phrase = {
  token: string;
  way: "up" | "down" | null;
  levelUsd: number | null;
  percent: number | null;
  hours: number | null;
  /** Whether the percentage counts from the price now. */
  isFromHere: boolean;
};

/** Chinese and Japanese numbers as digits: `12万` is 120000, and `9万5` or `9万5千` 95000. */
export function spellOutMyriads(text: string): string {
  return text.replace(
    /(?<![\d.])(\d{1,9}(?:\.\d{1,9})?)\s?[万萬](?:(\d)(?:千|(?!\d)))?/g,
    (_, myriads: string, thousands = "0") =>
      String(Math.round((Number(myriads) * 10 + Number(thousands)) * 1_000)),
  );
}

const FROM_HERE = /\bfrom (?:here|now|this price|the price now)\b/i;
const SCALES: Readonly<Record<string, number>> = { k: 1e3, к: 1e3, m: 1e6 };

/** The phrase in words that are all known; `null` for any others. @param before The coin of the phrase before it. */
function readPhrase(words: string, names: Names, before: string | null = null): Phrase | null {
  const said: Omit<Phrase, "way" | "token"> = {
    levelUsd: null,
    percent: null,
    hours: null,
    isFromHere: FROM_HERE.test(words),
  };
  let token = before;
  let [isRepeated, isCoinFirst, isNamed] = [false, before !== null, false];
  const ways = new Set<"up" | "down">();
  const text = spellOutMyriads(words.normalize("NFKC").replaceAll("−", "-").toLowerCase())
    .replace(/(?<=[\d%])(?=\p{Script=Han})|(?<=\p{Script=Han})(?=\d)/gu, " ")
    .replace(FROM_HERE, " ")
    .replace(/\bwake me up\b|[?!]|\.$/g, " ")
    .replace(/\ban? (?=hour|day|week)/g, "1 ")
    .replace(
      /(\d) ?(h|hrs?|hours?|d|days?|weeks?)\b/g,
      (_, digit: string, unit: string) => `${digit}~${unit.charAt(0)}`,
    )
    .replace(/(\d) ?(?:%|percent\b)/g, "$1% ");
  for (const word of text.split(/\s+/).filter((one) => one !== "")) {
    const [amount, sign = "", digits = "", unit = ""] =
      /^([+-]?)\$?(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,12}(?:\.\d{1,12})?)(%|k|к|m|~[hdw])?\$?$/.exec(word) ??
      [];
    const value = Number(digits.replaceAll(",", ""));
    if (amount !== undefined && unit.startsWith("~")) {
      isRepeated ||= said.hours !== null;
      said.hours = value * ({ "~h": 1, "~d": 24, "~w": 168 }[unit] ?? 1);
      continue;
    }
    if (amount !== undefined) {
      isRepeated ||= said.percent !== null || said.levelUsd !== null;
      isCoinFirst ||= isNamed;
      if (unit === "%") said.percent = value;
      else said.levelUsd = Number((value * (SCALES[unit] ?? 1)).toPrecision(15));
      if (sign !== "") ways.add(sign === "+" ? "up" : "down");
      continue;
    }
    const way = WAYS.get(word);
    if (way !== undefined) ways.add(way);
    else if (!FILLERS.has(word)) {
      const known = names.subjects.get(word) ?? names.subjects.get(word.toUpperCase()) ?? resolveSymbol(word);
      if (isNamed || !names.subjects.has(known) || !COIN.test(known)) return null;
      [token, isNamed] = [known, true];
    }
  }
  if (token === null || isRepeated || ways.size > 1 || (said.percent ?? said.levelUsd) === null) return null;
  const [way = null] = ways;
  // “1 BTC” is an amount, and no level.
  if ((way === null && !isCoinFirst) || (said.levelUsd !== null && (said.hours !== null || said.isFromHere)))
    return null;
  return { token, way, ...said };
}

/** The separators of two alerts in one message. */
const BETWEEN = /[,;]?\s(?:and|or|und|et|и|ve)\s|[,;]\s|[;\n&、和]/u;

/** The two or three phrases of a message, or its one; `null` if any part has unknown words. */
export function readPhrases(words: string, names: Names): Phrase[] | null {
  const phrases: Phrase[] = [];
  const parts = words.split(BETWEEN);
  for (const part of parts) {
    const phrase = parts.length > 3 ? null : readPhrase(part, names, phrases.at(-1)?.token ?? null);
    if (phrase === null) return null;
    phrases.push(phrase);
  }
  return phrases;
}

/** A question with the words that an answer completes: it stands in the place of `…`. */
export type Question = Doubt & { template?: string };

/** The condition of a phrase at a coin's price (USD; `null` if it is not known), or the question that it leaves open. */
export function toCondition(
  { token, way, levelUsd, percent, hours, isFromHere }: Phrase,
  price: number | null,
): Condition | Question {
  const atLevel = (direction: "above" | "below", level: number): Condition => {
    return { kind: "price", token, direction, levelUsd: level };
  };
  if (levelUsd !== null) {
    if (way !== null) return atLevel(way === "up" ? "above" : "below", levelUsd);
    if (price !== null && price !== levelUsd) return atLevel(price < levelUsd ? "above" : "below", levelUsd);
    return {
      say: `${token} at ${formatDollars(levelUsd)}: above or below?`,
      meant: [atLevel("above", levelUsd), atLevel("below", levelUsd)],
    };
  }
  const share = percent ?? 0;
  if (isFromHere && price !== null) {
    const level = (factor: number) => Number((price * factor).toPrecision(5));
    const both = [atLevel("above", level(1 + share / 100)), atLevel("below", level(1 - share / 100))];
    const [only] = way === null ? [] : way === "up" ? both : both.slice(1);
    return only ?? { say: `${formatPercent(share)} up or down from ${formatDollars(price)}?`, meant: both };
  }
  const within = (direction: "up" | "down", windowHours: number): Condition => {
    return { kind: "change", token, direction, percent: share, windowHours };
  };
  if (way === null)
    return {
      say: `${token} by ${formatPercent(share)}: up or down?`,
      meant: [within("up", hours ?? 24), within("down", hours ?? 24)],
    };
  if (hours === null)
    return {
      say: "Within how many hours?",
      meant: [1, 4, 24].map((count) => within(way, count)),
      template: `${token} ${way} ${share} % in …`,
    };
  if (WINDOWS.some((one) => one === hours)) return within(way, hours);
  return {
    say: `Within how many hours: ${WINDOWS.join(", ")}?`,
    meant: [within(way, 24)],
    template: `${token} ${way} ${share} % in …`,
  };
}

/** The words that a new level of a condition completes. */
export function toTemplate(condition: Condition): string {
  if (isTimed(condition)) return formatCondition(condition).replace(/\d\d:\d\d/, "…");
  if (condition.kind === "price") return `${condition.token} …`;
  return formatCondition(condition)
    .replace(/-?\d[\d.,]*/, "…")
    .replace(/… %/, "… %");
}
