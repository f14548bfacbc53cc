import { MAGNITUDES } from "../lib/magnitudes";
import type { Unread } from "./unread";

/** Numbers in a text, in digits and in words, with their units and the rounding they show. Pure. */

export type Unit = "usd" | "percent" | "bps" | "coins" | "gwei" | "times" | "rank";

export type NumberFigure = {
  kind: "number";
  /** As it stands in the text. */
  text: string;
  /** Where it ends in the text that was read. */
  end: number;
  start: number;
  value: number;
  /** How far the fact may lie from the value: half of the last place shown. */
  within: number;
  /** `null` where the text shows none. */
  unit: Unit | null;
  /** Whether the text shows a sign of its own. */
  isSigned: boolean;
  /** A bare number that may be a year. */
  mayBeYear: boolean;
  /** The coin that it counts, as written behind it. */
  ticker: string | null;
  /** Of `twice` and `half`: how many times one of the amounts beside it the other is. */
  ratio: Ratio | null;
};

/** `bound`: whether the text says more than this, less, or this. */
export type Ratio = { value: number; within: number; bound: "over" | "under" | null };

/** Digits, grouped or not, with a decimal part: 97,250.50 and 97250.5, 97.250,50, 97'250, 97 250, 3,2, .5, 1e-5. */
const NUMBER =
  "(?:[1-9]\\d{0,2}(?:,\\d{3})+(?!\\d)(?:\\.\\d+)?|\\d{1,3}(?:\\.\\d{3}){2,}(?:,\\d+)?|\\d{1,3}(?:\\.\\d{3})+,\\d+|\\d{1,3}(?:['’]\\d{3})+(?:\\.\\d+)?|\\d{1,3}(?: \\d{3})+(?:[.,]\\d+)?(?!\\d)|\\d+(?:[.,]\\d+)?(?:e[+-]?\\d+)?|\\.\\d+)";

export const SCALE =
  "(?:hundred|thousand|millions?|billions?|trillions?|mln|bln|trn|mn|mm|bn|tn|[kKmMbBtT])(?![A-Za-z])";

const COUNTS: Readonly<Record<string, number>> = { dozen: 12, hundred: 100 };

/** Numbers in words that count as figures: those of eleven and more, and any before a unit. */
const WORDS: Readonly<Record<string, number>> = {
  ...Object.fromEntries(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
      .split(" ")
      .map((word, value) => [word, value]),
  ),
  ...Object.fromEntries(
    "twenty thirty forty fifty sixty seventy eighty ninety"
      .split(" ")
      .map((word, tens) => [word, 10 * (tens + 2)]),
  ),
};
const SMALL = 10;
/** "a million", "half a billion", "half a percent": what stands for the number before the scale, or the percent. */
const ARTICLES: Readonly<Record<string, number>> = {
  ...{ a: 1, an: 1, "half a": 0.5, "half an": 0.5 },
  ...{ "a quarter of a": 0.25, "quarter of a": 0.25, "a tenth of a": 0.1, "tenth of a": 0.1 },
};
export const WORD_NUMBER = `(?:${Object.keys(WORDS).join("|")})(?:-(?:one|two|three|four|five|six|seven|eight|nine))?`;
const PERCENT_WORDS = "(?:percentage points?|percent|per cent|pct|points?(?= of a percent))";

/** Trailing zeros of a whole number may be rounding, but no more of it than this share. */
const MOST_ROUNDING = 0.005;
/** The same of a whole number with a scale: "$2T" says no more than its order. */
const MOST_SCALED_ROUNDING = 0.025;

/** Takes the numbers out of the text: those in digits, then those in words. */
export function takeNumbers(rest: Unread): NumberFigure[] {
  return [...digits(rest), ...words(rest)];
}

export function numberAt(start: number, text: string): NumberFigure {
  const end = start + text.length;
  const nothing = {
    value: 0,
    within: 0,
    unit: null,
    isSigned: false,
    mayBeYear: false,
    ticker: null,
    ratio: null,
  };
  return { kind: "number", text, start, end, ...nothing };
}

const UNIT_AFTER = `(?:\\s*(%|‰|${PERCENT_WORDS}(?![A-Za-z])|basis points?|bps?\\b|US dollars?|dollars?|USD[TC]?\\b|gwei\\b|[x×](?![A-Za-z0-9])|times(?= (?:that of|its|their|the|as|\\$?[A-Z])))|(st|nd|rd|th)\\b|\\s+([A-Z][A-Z0-9]{1,9})\\b)?`;

function digits(rest: Unread): NumberFigure[] {
  const pattern = new RegExp(
    `(?<![\\w.,])([+-]|(?<=[\\s(~])–(?=[\\d.$€£]))?\\s?(US\\$|\\$|USD ?|€|£)?\\s?([+-])?(${NUMBER})(?:[ -]?(${SCALE}))?${UNIT_AFTER}`,
    "g",
  );
  const { text } = rest;
  const figures: NumberFigure[] = [];
  for (const found of text.matchAll(pattern)) {
    const [whole, signBefore, money, signInside, number = "", scaleWord, unitWord, ordinal, ticker] = found;
    const sign = signBefore ?? signInside;
    const { value: bare, place } = valueOf(number);
    const scale = scaleOf(scaleWord);
    const unit = unitOf(money, unitWord, ordinal, ticker);
    const value = bare * scale * (unitWord === "‰" ? 0.1 : 1) * (sign === "-" || sign === "–" ? -1 : 1);
    const lead = whole.length - whole.trimStart().length;
    const within = roundingOf(value, place * scale, { isWhole: place >= 1, isScaled: scale > 1, unit });
    figures.push({
      ...numberAt(found.index + lead, whole.trim()),
      value,
      within,
      unit,
      ratio: unit === "times" && money === undefined ? { value, within, bound: null } : null,
      isSigned: sign !== undefined,
      ticker: unit === "coins" ? (ticker ?? null) : null,
      mayBeYear: unit === null && scale === 1 && /^(?:19|20)\d\d$/.test(number) && sign === undefined,
    });
    rest.take(found.index, whole.length);
  }
  return withSharedUnits(figures, text);
}

/** "3–5 %" and "$96k to 98k": a range has one unit, and what stands between its ends says that it is one. */
function withSharedUnits(figures: NumberFigure[], text: string): NumberFigure[] {
  return figures.map((figure, index) => {
    const next = figures[index + 1];
    const before = figures[index - 1];
    const joins = (a: NumberFigure, b: NumberFigure) =>
      /^\s*(?:-|–|—|to|and|or)\s*$/.test(text.slice(a.end, b.start));
    if (figure.unit !== null) return figure;
    if (next !== undefined && next.unit !== null && joins(figure, next))
      return { ...figure, unit: next.unit };
    const isUsd = before?.unit === "usd" && joins(before, figure);
    if (isUsd && nounBehind(text.slice(figure.end)) === null) return { ...figure, unit: "usd" };
    return figure;
  });
}

/** Words on -s behind a bare number that are not what it counts: verbs of prices, and lengths of time. */
const NO_NOUN =
  /^(?:plus|versus|minus|less|thus|always|holds|marks|stands|remains|looks|serves|caps|acts|sits|trades|levels|highs|lows|areas|hours|days|weeks|months|minutes|seconds|years|across|previous|this)$/i;

/** What a bare number counts, by the words behind it. */
export function nounBehind(after: string): string | null {
  const word = /^[ -]([a-z]{3,}s)\b/i.exec(after)?.[1];
  return word === undefined || /^(?:was|has)$/i.test(word) || NO_NOUN.test(word) ? null : word;
}

function words(rest: Unread): NumberFigure[] {
  const scales = "hundred|thousand|million|billion|trillion|dozen";
  const pattern = new RegExp(
    `(?<![\\w-])(minus )?(?:(${WORD_NUMBER})(?:[ -](${scales}))?|(half an?|an?) (${scales})|((?:(?:a )?(?:quarter|tenth) of|half) an?|an?)(?= ${PERCENT_WORDS}))(?: (${PERCENT_WORDS}|basis points?|dollars?|US dollars?))?(?![\\w-])`,
    "gi",
  );
  const figures: NumberFigure[] = [];
  for (const found of rest.text.matchAll(pattern)) {
    const [whole, minus, word, scaleAfterWord, ofScale, scaleAfterArticle, ofPercent, unitWord] = found;
    const [first = "", second] = (word ?? "").toLowerCase().split("-");
    const article = ofScale ?? ofPercent;
    const scaleWord = scaleAfterWord ?? scaleAfterArticle;
    const bare =
      article === undefined
        ? (WORDS[first] ?? 0) + (second === undefined ? 0 : (WORDS[second] ?? 0))
        : (ARTICLES[article.toLowerCase()] ?? 1);
    if (bare <= SMALL && scaleWord === undefined && unitWord === undefined) continue;
    const scale = scaleOf(scaleWord);
    const value = bare * scale * (minus === undefined ? 1 : -1);
    const unit = unitOf(undefined, unitWord, undefined, undefined);
    figures.push({
      ...numberAt(found.index, whole),
      value,
      within: roundingOf(value, scale, { isWhole: true, isScaled: scale > 1, unit }),
      unit,
      isSigned: minus !== undefined,
    });
    rest.take(found.index, whole.length);
  }
  return figures;
}

function scaleOf(word: string | undefined): number {
  if (word === undefined) return 1;
  const lower = word.toLowerCase();
  return COUNTS[lower] ?? 10 ** (MAGNITUDES[lower] ?? 0);
}

function unitOf(
  money: string | undefined,
  word: string | undefined,
  ordinal: string | undefined,
  ticker: string | undefined,
): Unit | null {
  if (ordinal !== undefined) return "rank";
  if (word !== undefined) {
    const lower = word.toLowerCase();
    if (
      lower === "%" ||
      lower === "‰" ||
      lower.startsWith("per") ||
      lower === "pct" ||
      lower.startsWith("point")
    )
      return "percent";
    if (lower.startsWith("basis") || lower.startsWith("bp")) return "bps";
    if (lower === "gwei") return "gwei";
    return lower === "x" || lower === "×" || lower === "times" ? "times" : "usd";
  }
  // Euros and pounds stand in no fact: as an amount they match none.
  if (money !== undefined) return /\$|USD/.test(money) ? "usd" : "times";
  return ticker === undefined || /^(?:UTC|GMT|AM|PM|OF|AND|TO)$/.test(ticker) ? null : "coins";
}

/** A number as written, and the place of its last digit: 0.01 for "3.25", 1 for "97,250". */
function valueOf(text: string): { value: number; place: number } {
  const [mantissa = "", exponent = "0"] = text.toLowerCase().split("e");
  const isGrouped = /^[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?$/.test(mantissa);
  const isPointGrouped = /^\d{1,3}(?:\.\d{3})+,\d+$|^\d{1,3}(?:\.\d{3}){2,}$/.test(mantissa);
  const bare = mantissa.replace(/['’ ]/g, "");
  const decimal = isGrouped
    ? bare.replaceAll(",", "")
    : isPointGrouped
      ? bare.replaceAll(".", "").replace(",", ".")
      : bare.replace(",", ".");
  const places = decimal.split(".")[1]?.length ?? 0;
  return { value: Number(`${decimal}e${exponent}`), place: Number(`1e${Number(exponent) - places}`) };
}

/** How far what is meant may lie from what is shown. */
function roundingOf(
  value: number,
  place: number,
  { isWhole, isScaled, unit }: { isWhole: boolean; isScaled: boolean; unit: Unit | null },
): number {
  const size = Math.abs(value);
  let shown = place;
  // Of a whole number, zeros at the end may be places that were rounded away.
  if (isWhole && unit !== "rank")
    while (size >= shown * 10 && Math.abs(size % (shown * 10)) < shown / 2) shown *= 10;
  const half = place / 2;
  const own = isScaled && isWhole ? Math.min(half, size * MOST_SCALED_ROUNDING) : half;
  return Math.max(own, Math.min(shown / 2, size * MOST_ROUNDING));
}
