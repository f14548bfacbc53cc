import {
  AHEAD,
  NUMBER_ENDS,
  NUMBERS,
  OVER,
  OVER_BEHIND,
  SCALES,
  SPANS,
  UNDER,
  UNDER_BEHIND,
  UNIT_WORDS,
  words,
  type WrittenUnit,
} from "./languages";
import { namesIn } from "../lib/records";
import { withoutTrailing } from "../lib/text";

/** The plain figures of a sentence: what a writer wrote with digits, or in words with a unit, and what it may mean. Pure. */

/** One reading of a figure, and the worth of its last digit. */
export type Reading = { value: number; place: number };

export type Figure = {
  start: number;
  end: number;
  text: string;
  /** What it may say; empty where it cannot be read. */
  readings: Reading[];
  unit: WrittenUnit | "coins" | "place" | "hours" | "date" | "none";
  /** The capitals behind it. */
  ticker: string | null;
  sign: -1 | 0 | 1;
  bound: "over" | "under" | null;
  /** Whether it is of a time to come. */
  isAhead: boolean;
};

const NUMBER =
  /(?<![\d.,])(?:\d+[万億亿](?:\d+万)?\d*(?=\d)\d|\d{1,3}(?:[.,'’ ]\d{3})+(?!\d)(?:[.,]\d+)?|\d+(?:[.,]\d+)*|\.\d+)/g;
const CURRENCY = /(?:US\$|R\$|(?<!\p{L})(?:USD|EUR|GBP|JPY|CNY|CHF|AUD|CAD)|[$€£¥₿])\s?$/u;
const SIGN =
  /(?:(?<![\p{L}\p{N}.)\]}%])[+-]|(?<!\p{L})(?:plus|minus|negative|menos|moins|más)\s|负|マイナス)\s?$/iu;
const LATIN = "(?!\\p{Script=Latin})";
const PER_HUNDRED = /百分之\s?$/;
const PLACE =
  /(?:#|№|(?<!\p{L})(?:No\.|Nr\.|number|rank|Platz|place|puesto|rang|posição|posición)\s?#?|第)\s?$/iu;
const ORDINAL = /^(?:st|nd|rd|th|º|ª|er|ère|e|ème|位|名)(?!\p{Script=Latin})/u;
const TICKER = /^\s?([A-Z][A-Z0-9]{1,9})(?![\p{L}\d])/u;

const scales = SCALES.map(({ words: list, powers }) => ({ pattern: behind(list), powers }));
const spans = SPANS.map(({ words: list, hours }) => ({ pattern: behind(list), hours }));
const units = namesIn(UNIT_WORDS).map((unit) => ({ unit, pattern: behind(UNIT_WORDS[unit]) }));

function behind(list: string): RegExp {
  return new RegExp(`^[\\s-]?(?:de )?(?:${list})${LATIN}`, "u");
}

/** @param text A sentence in which what is no plain figure is out of the way, at its length. */
export function figuresIn(text: string): Figure[] {
  const figures = [...text.matchAll(NUMBER)].map((found) => numberAt(text, found[0], found.index));
  joinRanges(text, figures);
  const taken = (start: number, end: number) => figures.some((one) => start < one.end && end > one.start);
  for (const pattern of [IN_WORDS, SHARE, BY_ITSELF, OTHER_DIGITS]) {
    for (const found of text.matchAll(pattern)) {
      const end = found.index + found[0].length;
      if (!taken(found.index, end)) figures.push(inWords(text, found[0], found.index));
    }
  }
  return figures.sort((a, b) => a.start - b.start);
}

function numberAt(text: string, digits: string, at: number): Figure {
  const before = leftOf(text.slice(Math.max(0, at - 24), at));
  const after = rightOf(text.slice(at + digits.length, at + digits.length + 30), before);
  const [start, end] = [at - before.length, at + digits.length + after.length];
  const { sign, unit: known } = before;
  return {
    ...{ start, end, text: text.slice(start, end), unit: after.unit ?? known, ticker: after.ticker },
    readings: readingsOf(digits).flatMap(({ value, place }) =>
      after.factors.map((factor) => ({ value: value * factor, place: place * factor })),
    ),
    sign: sign === "" ? 0 : /[+]|plus|más/i.test(sign) ? 1 : -1,
    bound: boundAt(text, start, end),
    isAhead: AHEAD_BEFORE.test(text.slice(0, start)),
  };
}

type Left = { sign: string; unit: "usd" | "other" | "percent" | "place" | "none"; length: number };

/** What stands before digits and belongs to them. */
function leftOf(text: string): Left {
  let rest = text;
  const take = (pattern: RegExp) => {
    const found = pattern.exec(rest)?.[0] ?? "";
    rest = rest.slice(0, rest.length - found.length);
    return found.trim();
  };
  const inner = take(SIGN);
  const currency = take(CURRENCY);
  const sign = inner === "" ? take(SIGN) : inner;
  const isShare = take(PER_HUNDRED) !== "";
  const isPlace = take(PLACE) !== "";
  const money = /^(?:US\$|USD|\$)$/.test(currency) ? "usd" : "other";
  const unit = isShare ? "percent" : isPlace ? "place" : currency === "" ? "none" : money;
  return { sign, unit, length: text.length - rest.length };
}

/** `unit`: `null` where what stands before the digits says it. */
type Right = {
  unit: Figure["unit"] | null;
  ticker: string | null;
  factors: readonly number[];
  length: number;
};

/** What stands behind digits and belongs to them. */
function rightOf(text: string, { unit: known }: Left): Right {
  const found = scales.flatMap(({ pattern, powers }) => {
    const scale = pattern.exec(text)?.[0];
    return scale === undefined ? [] : [{ scale, powers }];
  });
  const scale = found.map((one) => one.scale).reduce((a, b) => (b.length > a.length ? b : a), "");
  const span = spans.find(({ pattern }) => pattern.test(text));
  if (span !== undefined && known === "none" && (scale === "" || /^\s?m$/.test(scale))) {
    const length = span.pattern.exec(text)?.[0].length ?? 0;
    return { unit: "hours", ticker: null, factors: [span.hours], length };
  }
  const factors = scale === "" ? [1] : found.flatMap(({ powers }) => powers.map((power) => 10 ** power));
  const rest = text.slice(scale.length);
  const ending = (unit: Right["unit"], own: string, ticker: string | null = null): Right => ({
    ...{ unit, ticker, factors, length: scale.length + own.length },
  });
  const written = units.find(({ pattern }) => pattern.test(rest));
  if (written !== undefined) {
    const isOwn = known === "none" || written.unit === "cents";
    const cents = written.unit === "cents" ? factors.map((factor) => factor / 100) : factors;
    return { ...ending(isOwn ? written.unit : null, written.pattern.exec(rest)?.[0] ?? ""), factors: cents };
  }
  if (known !== "none") return ending(null, "");
  const ordinal = scale === "" ? (ORDINAL.exec(rest)?.[0] ?? "") : "";
  if (ordinal !== "") return ending("place", ordinal);
  const [whole = "", ticker = null] = TICKER.exec(rest) ?? [];
  return ending(ticker === null ? null : "coins", whole, ticker);
}

/** What digits may say under either convention: a point or a comma before three digits groups them, a point may not. */
function readingsOf(digits: string): Reading[] {
  if (/[万億亿]/.test(digits)) return [inMyriads(digits)];
  const marks = digits.replace(/\d/g, "");
  const last = Math.max(digits.lastIndexOf("."), digits.lastIndexOf(","));
  const behind = digits.length - last - 1;
  const grouped: Reading = whole(digits.replace(/\D/g, ""));
  const decimal: Reading = {
    value: Number(`${digits.slice(0, last).replace(/\D/g, "")}.${digits.slice(last + 1)}`),
    place: 10 ** -behind,
  };
  if (last === -1) return [grouped];
  if (marks.length > 1) return new Set(marks).size === 1 ? (behind === 3 ? [grouped] : []) : [decimal];
  if (behind !== 3 || /^0?\D/.test(digits)) return [decimal];
  return marks === "." ? [decimal, grouped] : [grouped];
}

/** `10万5440` */
function inMyriads(digits: string): Reading {
  const part = (mark: string) => Number(new RegExp(`(\\d+)[${mark}]`, "u").exec(digits)?.[1] ?? 0);
  const rest = Number(digits.split(/[万億亿]/u).at(-1));
  return { value: part("億亿") * 1e8 + part("万") * 1e4 + rest, place: 1 };
}

/** Zeros at the end show no more than that it is rounded. */
function whole(digits: string): Reading {
  const zeros = digits.length - withoutTrailing(digits, "0").length;
  return { value: Number(digits), place: 10 ** Math.min(zeros, Math.max(0, digits.length - 2)) };
}

const RANGE = /^\s?(?:-|–|—|~|～|to|and|bis|und|a|y|à|et|e|至|到|から)\s?$/u;

/** "$95–98k": the ends of a range have one unit. */
function joinRanges(text: string, figures: Figure[]): void {
  for (const [index, second] of figures.entries()) {
    const first = figures[index - 1];
    if (first === undefined || !RANGE.test(text.slice(first.end, second.start))) continue;
    if (/[-–—]/.test(text.slice(first.end, second.start)) || text.charAt(first.end) === "-") second.sign = 0;
    if (first.unit === "none" && second.unit !== "none") {
      const factor =
        (second.readings[0]?.place ?? 1) /
        (readingsOf(/\d[\d.,]*/.exec(second.text)?.[0] ?? "1")[0]?.place ?? 1);
      first.readings = first.readings.flatMap((one) => [
        one,
        { value: one.value * factor, place: one.place * factor },
      ]);
      first.unit = second.unit;
    } else if (second.unit === "none") second.unit = first.unit;
  }
}

const BOUND_BEFORE = new RegExp(
  `(?<!\\p{L})(?:(${OVER})|(${UNDER}))\\s?(?:the |a |an |some |about |de |d['’])?$`,
  "iu",
);
const BOUND_BEHIND = new RegExp(`^\\s?(?:(${OVER_BEHIND})|(${UNDER_BEHIND}))`, "u");
const AHEAD_BEFORE = new RegExp(
  `(?<!\\p{L})(?:${AHEAD})(?: few)?\\s?(?:\\d+\\s?(?:to|-|–|bis|a|à)\\s?)?$`,
  "iu",
);

export function boundAt(text: string, start: number, end: number): Figure["bound"] {
  const [, over, under] =
    BOUND_BEFORE.exec(text.slice(Math.max(0, start - 40), start)) ?? BOUND_BEHIND.exec(text.slice(end)) ?? [];
  return over !== undefined ? "over" : under !== undefined ? "under" : null;
}

const NUMBER_WORDS = Object.keys(NUMBERS).join("|");
const AMOUNT_UNITS = `${UNIT_WORDS.points}|${UNIT_WORDS.bps}|${UNIT_WORDS.percent}|${UNIT_WORDS.times}|${UNIT_WORDS.usd}|${UNIT_WORDS.cents}|${UNIT_WORDS.gwei}|成|割|points?`;
/** A number in words with its unit. */
const IN_WORDS = words(
  `(?:\\p{L}*(?:${NUMBER_WORDS}|${NUMBER_ENDS})[ -]|[零〇一二两三四五六七八九十百千万亿億兆点]{1,12}\\s?)(?:(?:a|and|et|y|e|und) (?:a )?(?:half|demi|medio|meio) )?(?:a )?(?:${AMOUNT_UNITS})`,
);
const NUMBER_BEFORE = new RegExp(`(?:${NUMBER_WORDS}|${NUMBER_ENDS})[\\s-]$`, "iu");
/** A unit that only stands behind numbers: whatever is before it says one. */
const BY_ITSELF =
  /(?:%|percent(?!age)|per cent|Prozent(?!ual)|por ciento|pour cent|por cento|basis points?|Basispunkten?|puntos b[áa]sicos|points de base|pontos[- ]base|millions?|billions?|trillions?|Millionen|Milliarden?|Billionen|mill[óo]n(?:es)?|billones|milliards?|[mbtr]{1,2}ilh(?:ão|ões))(?!\p{Script=Latin})|百分之\p{Script=Han}+|パーセント/giu;
/** `nine in ten` */
const SHARE = words(`(?:${NUMBER_WORDS}) (?:in|out of) (?:every )?(?:${NUMBER_WORDS})`);
/** Whatever else says numbers: digits in no order of any convention, Roman ones, raised or circled ones. */
const OTHER_DIGITS = /\p{N}{1,40}/gu;

function inWords(text: string, told: string, start: number): Figure {
  const end = start + told.length;
  const [first = "", ...rest] = told.split(/[\s-]+/);
  const value = NUMBERS[first.toLowerCase()];
  const unit = units.find(({ pattern }) => pattern.test(` ${rest.join(" ")}`))?.unit;
  const isRead =
    value !== undefined &&
    unit !== undefined &&
    rest.length === 1 &&
    !NUMBER_BEFORE.test(text.slice(0, start));
  return {
    ...{ start, end, text: told, ticker: null, sign: 0, bound: boundAt(text, start, end), isAhead: false },
    readings: isRead ? [{ value, place: 1 }] : [],
    unit: unit ?? "other",
  };
}
