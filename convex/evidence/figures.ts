import { escaped } from "./names";
import { takeDates, type DateFigure } from "./dates";
import { LESS_THAN, MORE_THAN, MULTIPLES, RATIO_ROUNDING, RATIO_WORDS, RATIOS, SHARE } from "./multiples";
import { numberAt, SCALE, takeNumbers, WORD_NUMBER, type NumberFigure, type Ratio } from "./numbers";
import { Unread } from "./unread";

/**
 * Reads the figures of a text: every price, percentage, amount, count and date that it states, with the rounding it shows.
 * Pure. What is no figure, by decision: citations, numbers of lists, names with digits (tickers, layers, token standards),
 * words for small numbers ("three themes") and ordinals in words, the length of lists ("top 20"), and lengths of time.
 */

export type Figure =
  | NumberFigure
  | DateFigure
  | {
      /** What this cannot read, such as digits of other scripts: nothing can say the same. */
      kind: "unreadable";
      text: string;
      start: number;
      end: number;
    };

/** The text as figures are read from it: compatible forms made plain, what cannot be seen left out. */
export function plain(text: string): string {
  return text
    .replace(/[\u00B2\u00B3\u00B9\u2070-\u209F]/g, "^")
    .normalize("NFKC")
    .replace(/\p{Cf}|\uFE0F/gu, "")
    .replace(/[\u2212\u2012\uFE63\uFF0D]/g, "-")
    .replace(/[\u00A0\u2007\u2009\u202F]/g, " ");
}

/** `[f12]`, `[f1, f2]` */
export const CITATION = /\[f\d+(?:\s*[,;]\s*f?\d+)*\]/gi;

/** An amount without a space behind its currency: EUR3, USD5bn; USD1 is a coin. */
const AMOUNT = `(?:(?:EUR|GBP|JPY|CHF|CNY|AUD|CAD|HKD|KRW)\\d|USD?\\d+(?:[.,]?\\d|[ -]?${SCALE}))`;
const NO_PERCENT = "(?![\\w.]*\\s*(?:%|percent))";

/** What makes a digit part of a name, with which it is written. */
const NAMES: readonly RegExp[] = [
  /https?:\/\/\S+/g,
  /\b0x[0-9a-fA-F]+\b/g,
  CITATION,
  // C98, L2, Q3, Web3, USD1; not an amount that is written against its currency, nor more digits than names have.
  new RegExp(`(?<![\\w$€£])(?!${AMOUNT})[A-Za-z]+\\d{1,4}${NO_PERCENT}(?!\\d)[\\w.]*(?<!\\.)`, "g"),
  // ERC-20, EIP-1559; what stands behind other words and a hyphen is a figure: sub-90, mid-80s.
  new RegExp(`(?<![\\w$€£])(?:[A-Z]{1,6}|COVID)-\\d{1,4}(?![\\w.,]*\\d|${SCALE})${NO_PERCENT}`, "g"),
  /\b(?:layer|phase|stage|tier|step|part|chapter|version|series|section|group|type|no\.|top|web)[ -]?\d{1,3}(?![\d,.]*\d)\b(?!\s*(?:%|percent|bps|USD|million|billion|thousand))/gi,
  /\bS&P 500\b|\bNasdaq 100\b|\b24\/7\b/gi,
  // The number of a line in a list.
  /^[ \t]{0,8}(?:[-*•][ \t]{0,4})?\(?\d{1,2}[.)](?=\s)/gm,
];

const SPAN_WORDS = "hours?|minutes?|seconds?|days?|weeks?|months?|years?|quarters?|sessions?";

/** Lengths of time. */
const SPANS: readonly RegExp[] = [
  /(?<![\w.,$€£])\d+(?:[.,]\d+)?[ -]?(?:h|hr|hrs|hours?|min|mins|minutes?|secs?|seconds?|d|days?|w|weeks?|months?|y|yrs?|years?|quarters?|sessions?)\b(?:[ -](?:ly|old|long))?/gi,
  /(?<![\w.,$€£])\d+(?:\s*(?:-|–|to|or)\s*)\d+[ -]?(?:h|hr|hrs|hours?|minutes?|days?|weeks?|months?|years?)\b/gi,
];

const SPAN_IN_WORDS = new RegExp(`(?<![\\w-])${WORD_NUMBER}[ -](?:${SPAN_WORDS})\\b`, "gi");

/** Names that begin with digits, beside those that the caller knows. */
const DIGIT_FIRST = ["1INCH", "0x", "3Crv", "4chan", "3Commas"];

/**
 * @param text As `plain` makes it.
 * @param known Names of coins that may hold digits.
 * @returns In the order of the text.
 */
export function readFigures(text: string, known: readonly string[] = []): Figure[] {
  const rest = new Unread(text);
  const hide = (patterns: readonly RegExp[]) => {
    for (const pattern of patterns) {
      for (const found of rest.text.matchAll(pattern)) rest.take(found.index, found[0].length);
    }
  };
  const figures: Figure[] = takeDates(rest);
  const begun = [...DIGIT_FIRST, ...known.filter((name) => /^\d+[A-Za-z]/.test(name))].map(escaped);
  hide([SPAN_IN_WORDS]);
  hide([new RegExp(`(?<![\\w.,$-])(?:${begun.join("|")})(?!\\w)`, "gi"), ...NAMES, ...SPANS]);
  for (const found of rest.text.matchAll(SHARE)) {
    figures.push(unreadable(found));
    rest.take(found.index, found[0].length);
  }
  for (const found of rest.text.matchAll(RATIOS)) {
    const value = RATIO_WORDS[found[0].toLowerCase().replaceAll("-", " ")] ?? 0;
    const ratio = { value, within: value * RATIO_ROUNDING, bound: boundAt(text, found.index) };
    figures.push({ ...numberAt(found.index, found[0]), value, unit: "times", ratio });
    rest.take(found.index, found[0].length);
  }
  for (const { pattern, percent, within } of MULTIPLES) {
    for (const found of rest.text.matchAll(pattern)) {
      figures.push({
        ...numberAt(found.index, found[0]),
        value: percent,
        within,
        unit: "percent",
        isSigned: percent < 0,
        ratio: / of /i.test(found[0])
          ? { value: percent / 100, within: within / 100, bound: boundAt(text, found.index) }
          : null,
      });
      rest.take(found.index, found[0].length);
    }
  }
  figures.push(...takeNumbers(rest));
  for (const found of rest.text.matchAll(/\p{Nd}+(?:[.,]\p{Nd}+)*/gu)) {
    figures.push(unreadable(found));
  }
  return figures.sort((a, b) => a.start - b.start);
}

function unreadable({ 0: text, index: start }: RegExpExecArray): Figure {
  return { kind: "unreadable", text, start, end: start + text.length };
}

function boundAt(text: string, at: number): Ratio["bound"] {
  const before = text.slice(0, at);
  return MORE_THAN.test(before) ? "over" : LESS_THAN.test(before) ? "under" : null;
}
