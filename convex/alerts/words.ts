import { indexNames, type Names } from "../figures/mentions";
import { resolveSymbol } from "../lib/money/coins";
import { formatDollars, formatPercent } from "../lib/text/numbers";
import { trimTrailing } from "../lib/text/strings";
import { createClauses, normalize, NUMBER, takeSchedule, toNumber, type Groups } from "./clauses";
import { COIN, FUNDING_HOURS, WINDOWS } from "./conditions";
import type { Refusal, Schedule } from "./schedule";
import { conditionShape } from "./shapes";
import type { AlertCondition, Condition } from "./tables";

/**
 * A parser of alerts in people's words. It takes each clause (a time, a level, a percentage, a window) out of the text. The
 * rest has to be a coin; with any other word in it, the text is left to a model. Pure.
 */

/** A question about ambiguous words, with the conditions that they may mean. */
export type Clarification = { question: string; readings?: readonly Condition[] };

/** An alert that was parsed from words. */
export type ParsedAlert = {
  token: string;
  /** Whether the words state the condition and nothing else. */
  isExact: boolean;
  /** Whether the condition depends on the coin's present price. */
  needsPrice: boolean;
  /** The condition, at the coin's price in USD where `needsPrice`; `null` if it is out of bounds. */
  toCondition: (price: number | null) => AlertCondition | Clarification | null;
};

const WINDOW =
  /(?:\b(?:in|within|per) )?(?:\b(?<count>\d{1,4}) ?|\ban? |(?<=\bper ))(?<unit>h|hrs?|hours?|d|days?|w|weeks?)\b/i;
const PERCENT = new RegExp(String.raw`(?<sign>[+-])?${NUMBER} ?(?:%|percent\b)`, "i");
const LEVEL = new RegExp(
  String.raw`(?<![\w.,-])\$?${NUMBER}(?<multiple>[kкmb])?\$?(?: ?(?:usd|dollars|bucks)\b)?(?![\w%])`,
  "i",
);
const WAYS = {
  up: /(?<!\w)(?:up|above|over|past|beyond|exceeds|rises|gains|climbs|pumps|jumps)(?!\w)|>/gi,
  down: /(?<!\w)(?:down|below|under|beneath|falls|drops|dips|loses|dumps|crashes)(?!\w)|</gi,
} as const;
const FROM_HERE = /\bfrom (?:here|now|this price|the price now)\b/i;
/** Words that do not change what an alert means. */
const FILLERS = new Set(
  (
    "a an the me my i alert alerts alarm price set create add make new tell ping notify warn message text let know send " +
    "when if once as soon it is its gets goes get go to at hits hit reaches reach touches for of on by in within please " +
    "pls wanna want can you about"
  ).split(" "),
);
/** Words that ask for an alert, whatever else they leave open. */
const ASKS = /\b(?:alerts?|alarm|notify|ping|warn)\b/i;

/** The alerts in a message, three at most; `null` if any part of it has words that this parser does not know. */
export function parseAlerts(text: string, names: Names): ParsedAlert[] | null {
  const whole = parseAlert(text, names);
  if (whole !== null) return [whole];
  const parts = text.split(/[,;]?\s(?:and|or|und|et|и|ve)\s|[,;]\s|[;\n&、和]/u);
  if (parts.length < 2 || parts.length > 3) return null;
  const found: ParsedAlert[] = [];
  for (const part of parts) {
    const said = parseAlert(part, names, found.at(-1)?.token);
    if (said === null) return null;
    found.push(said);
  }
  return found;
}

/** The names of the coins that are known without a list from a source. */
const MAJORS = indexNames([]);

/** The condition of a line that states an alert and nothing else; `null` for other words, and out of bounds. */
export function parseAlertLine(text: string): AlertCondition | null {
  const said = parseAlert(text, MAJORS);
  const decided = said?.isExact === true ? said.toCondition(null) : null;
  return decided !== null && "kind" in decided ? decided : null;
}

/** @param before The coin of the preceding alert in the message, which applies if this one names none. */
function parseAlert(text: string, names: Names, before = ""): ParsedAlert | null {
  const content = normalize(text);
  const clauses = createClauses(content);
  const schedule = takeSchedule(clauses, /^digest\b/i.test(content));
  if (schedule !== null) return toTimedAlert(schedule, clauses.words().join(" "));
  clauses.take(/\bwake me up\b/i);
  const flow = clauses.take(/\b(?:whale )?(?<direction>in|out)flow of\b/i)?.["direction"];
  const isFunding = clauses.take(/\bfunding(?: rate)?\b/i) !== null;
  const isFromHere = clauses.take(FROM_HERE) !== null;
  const window = clauses.take(WINDOW);
  const percent = clauses.take(PERCENT, " # ");
  const level = percent === null ? clauses.take(LEVEL, " # ") : null;
  const ways = (["up", "down"] as const).filter((one) => clauses.take(WAYS[one]) !== null);
  const sign = percent?.["sign"];
  if (sign !== undefined && !isFunding) ways.push(sign === "+" ? "up" : "down");
  const [way = null] = ways;
  const left = clauses.words().map((word) => trimTrailing(word, ",;:!?."));
  const words = left.filter((word) => !FILLERS.has(word.toLowerCase()));
  const isExact = way !== null && words.length === left.length;
  const token = findCoin(words.filter((word) => word !== "#").join(" ") || before, names, isExact);
  const isBare = way === null && level === null && percent === null && window === null;
  if (token !== null && isBare && ASKS.test(content))
    return { token, isExact, needsPrice: true, toCondition: (price) => toNearLevels(token, price) };
  // “1 BTC” is an amount, and no level.
  if (token === null || ways.some((one) => one !== way) || (way === null && words.at(-1) !== "#"))
    return null;
  const said = { token, isExact, needsPrice: isFromHere || (way === null && level !== null) };
  const side = way === "up" ? "above" : "below";
  const hours = window === null ? null : toHours(window);
  if (level !== null) {
    const value = toNumber(level);
    if (hours !== null || isFunding || isFromHere || (flow !== undefined && way !== "up")) return null;
    const found = { kind: "flow", token, direction: flow?.toLowerCase(), overUsd: value };
    if (flow !== undefined) return { ...said, toCondition: () => toValidCondition(found) };
    return { ...said, toCondition: (price) => toLevel(token, way && side, value, price) };
  }
  if (percent === null || flow !== undefined) return null;
  const value = toNumber(percent);
  if (isFunding && way !== null) {
    const signed = (sign === "-" ? -value : value) / (hours ?? FUNDING_HOURS);
    const percentPerHour = Number(signed.toPrecision(12)) + 0;
    return {
      ...said,
      toCondition: () => toValidCondition({ kind: "funding", token, direction: side, percentPerHour }),
    };
  }
  const move = { token, way, percent: value, hours };
  if (isFunding || (isFromHere && hours !== null)) return null;
  return {
    ...said,
    toCondition: (price) => (isFromHere && price !== null ? toLevelFromHere(move, price) : toChange(move)),
  };
}

const toHours = ({ count = "1", unit = "" }: Groups): number =>
  Number(count) * ({ d: 24, w: 168 }[unit.charAt(0).toLowerCase()] ?? 1);

/** The condition with these fields, if it is within the bounds of its kind. */
const toValidCondition = (fields: object): AlertCondition | null =>
  conditionShape.safeParse(fields).data ?? null;

/** The symbol that words name. @param isExact Whether it may be a coin outside every list. */
function findCoin(words: string, { subjects }: Names, isExact: boolean): string | null {
  const named = subjects.get(words.toLowerCase()) ?? subjects.get(words.toUpperCase());
  const symbol = named ?? resolveSymbol(words);
  return COIN.test(symbol) && (isExact || subjects.has(symbol)) ? symbol : null;
}

function toTimedAlert(schedule: Schedule | Refusal, words: string): ParsedAlert | null {
  const [, token, always] = /^research (\$?[a-z0-9][a-z0-9.-]{0,19})( always)?$/i.exec(words) ?? [];
  if (token === undefined && !/^digest$/i.test(words)) return null;
  const kind = token === undefined ? { kind: "digest" } : { kind: "research", token };
  const condition = { ...kind, ...schedule, ...(always === undefined ? {} : { always: true }) };
  const toCondition = () =>
    "refusal" in schedule ? { question: schedule.refusal } : toValidCondition(condition);
  return { token: "", isExact: true, needsPrice: false, toCondition };
}

type Side = "above" | "below";

function toLevel(token: string, side: Side | null, levelUsd: number, price: number | null) {
  const at = (direction: Side) => toValidCondition({ kind: "price", token, direction, levelUsd });
  if (side !== null) return at(side);
  if (price !== null && price !== levelUsd) return at(price < levelUsd ? "above" : "below");
  return buildClarification(`${token} at ${formatDollars(levelUsd)}: above or below?`, [
    at("above"),
    at("below"),
  ]);
}

/** Levels near the price, for words that name none. */
function toNearLevels(token: string, price: number | null): Clarification | null {
  if (price === null) return null;
  const near = toLevelFromHere({ token, way: null, percent: 5, hours: null }, price);
  const question = `At which price? ${token} is at ${formatDollars(price)}. Tap, or send it again with a price.`;
  return near !== null && "question" in near ? { ...near, question } : null;
}

function buildClarification(question: string, readings: readonly (Condition | null)[]): Clarification {
  return { question, readings: readings.filter((one) => one !== null) };
}

type Move = { token: string; way: "up" | "down" | null; percent: number; hours: number | null };

/** Turns a percentage from the present price into a level. */
function toLevelFromHere({ token, way, percent }: Move, price: number) {
  const at = (direction: Side, factor: number) =>
    toValidCondition({ kind: "price", token, direction, levelUsd: Number((price * factor).toPrecision(5)) });
  const above = at("above", 1 + percent / 100);
  const below = at("below", 1 - percent / 100);
  if (way !== null) return way === "up" ? above : below;
  return buildClarification(`${formatPercent(percent)} up or down from ${formatDollars(price)}?`, [
    above,
    below,
  ]);
}

function toChange({ token, way, percent, hours }: Move) {
  const within = (direction: "up" | "down", windowHours: number) =>
    toValidCondition({ kind: "change", token, direction, percent, windowHours });
  if (way === null) {
    const both = [within("up", hours ?? 24), within("down", hours ?? 24)];
    return buildClarification(`${token} by ${formatPercent(percent)}: up or down?`, both);
  }
  if (hours !== null && WINDOWS.some((one) => one === hours)) return within(way, hours);
  const readings = [1, 4, 24].map((count) => within(way, count));
  return buildClarification(
    `Within how many hours? Tap, or send it again with one of ${WINDOWS.join(", ")}.`,
    readings,
  );
}
