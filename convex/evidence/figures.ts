import { MULTIPLES, SHARE } from "./multiples";

/**
 * Reads the figures of a text: every price, percentage, amount, count and date that it states, with the rounding it shows.
 * Pure. What is no figure, by decision: citations, numbers of lists, names with digits (tickers, layers, token standards),
 * words for small numbers ("three themes") and ordinals in words, the length of lists ("top 20"), and lengths of time.
 */

export type Unit = "usd" | "percent" | "bps" | "coins" | "gwei" | "times" | "rank";

export type Figure =
  | {
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
    }
  | {
      kind: "date";
      text: string;
      start: number;
      end: number;
      /** What it shows of a moment in UTC; months are 1 to 12. */
      shows: { year?: number; month?: number; day?: number; hour?: number; minute?: number };
    }
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

const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const MONTH =
  "(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sep(?:t(?:ember)?)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)";

/** Digits, grouped or not, with a decimal part: 97,250.50 and 97250.5, 97.250,50, 97'250, 97 250, 3,2, .5, 1e-5. */
const NUMBER =
  "(?:[1-9]\\d{0,2}(?:,\\d{3})+(?!\\d)(?:\\.\\d+)?|\\d{1,3}(?:\\.\\d{3}){2,}(?:,\\d+)?|\\d{1,3}(?:\\.\\d{3})+,\\d+|\\d{1,3}(?:['’]\\d{3})+(?:\\.\\d+)?|\\d{1,3}(?: \\d{3})+(?:[.,]\\d+)?(?!\\d)|\\d+(?:[.,]\\d+)?(?:e[+-]?\\d+)?|\\.\\d+)";

const SCALES: Readonly<Record<string, number>> = {
  dozen: 12,
  hundred: 1e2,
  k: 1e3,
  thousand: 1e3,
  m: 1e6,
  mn: 1e6,
  mm: 1e6,
  mln: 1e6,
  million: 1e6,
  millions: 1e6,
  b: 1e9,
  bn: 1e9,
  bln: 1e9,
  billion: 1e9,
  billions: 1e9,
  t: 1e12,
  tn: 1e12,
  trn: 1e12,
  trillion: 1e12,
  trillions: 1e12,
};
const SCALE =
  "(?:hundred|thousand|millions?|billions?|trillions?|mln|bln|trn|mn|mm|bn|tn|[kKmMbBtT])(?![A-Za-z])";

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

const DATES: readonly { pattern: RegExp; read: (found: string[]) => Record<string, number> }[] = [
  {
    pattern:
      /(?<!\d)(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::\d{2}(?:\.\d+)?)?)?(?:\s*(?:Z|UTC)\b)?/g,
    read: ([year, month, day, hour, minute]) => numbers({ year, month, day, hour, minute }),
  },
  {
    pattern: new RegExp(
      `(?<!\\d)(\\d{1,2})(?:st|nd|rd|th)?(?: of)? (${MONTH})\\.?(?:,? (\\d{4}))?(?![\\w])`,
      "g",
    ),
    read: ([day, month = "", year]) => ({ ...numbers({ day, year }), month: monthOf(month) }),
  },
  {
    pattern: new RegExp(
      `\\b(${MONTH})\\.? (\\d{1,2})(?:st|nd|rd|th)?(?![\\d:.,]\\d|\\d|\\s*%)(?:,? (\\d{4}))?(?!\\w)`,
      "g",
    ),
    read: ([month = "", day, year]) => ({ ...numbers({ day, year }), month: monthOf(month) }),
  },
  {
    pattern: new RegExp(`\\b(${MONTH}) (\\d{4})(?!\\w)`, "g"),
    read: ([month = "", year]) => ({ ...numbers({ year }), month: monthOf(month) }),
  },
  {
    pattern: /(?<![\d:])(\d{1,2})[./](\d{1,2})[./](\d{4})(?!\d)/g,
    read: ([day, month, year]) => numbers({ day, month, year }),
  },
  {
    pattern: /(?<![\d:])(\d{1,2}):(\d{2})(?::\d{2})?(?!\d)(?:\s*(?:UTC|GMT|Z)\b)?/g,
    read: ([hour, minute]) => numbers({ hour, minute }),
  },
];

function monthOf(name: string): number {
  return MONTHS.indexOf(name.slice(0, 3).toLowerCase()) + 1;
}

function numbers(parts: Record<string, string | undefined>): Record<string, number> {
  const told = Object.entries(parts).flatMap(([name, text]) => (text ? [[name, Number(text)] as const] : []));
  return Object.fromEntries(told);
}

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
const WORD_NUMBER = `(?:${Object.keys(WORDS).join("|")})(?:-(?:one|two|three|four|five|six|seven|eight|nine))?`;
const PERCENT_WORDS = "(?:percentage points?|percent|per cent|pct|points?(?= of a percent))";

const SPAN_IN_WORDS = new RegExp(`(?<![\\w-])${WORD_NUMBER}[ -](?:${SPAN_WORDS})\\b`, "gi");

/** Trailing zeros of a whole number may be rounding, but no more of it than this share. */
const MOST_ROUNDING = 0.005;
/** The same of a number with a scale, which shows its places: "$2T" says no more than its order. */
const MOST_SCALED_ROUNDING = 0.025;

/** Names that begin with digits, beside those that the caller knows. */
const DIGIT_FIRST = ["1INCH", "0x", "3Crv", "4chan", "3Commas"];

/**
 * @param text As `plain` makes it.
 * @param known Names of coins that may hold digits.
 * @returns In the order of the text.
 */
export function readFigures(text: string, known: readonly string[] = []): Figure[] {
  const figures: Figure[] = [];
  let rest = text;
  /** What has been read is put out of the way, at its length. */
  const take = (start: number, length: number) => {
    rest = rest.slice(0, start) + "\u0001".repeat(length) + rest.slice(start + length);
  };
  const hide = (patterns: readonly RegExp[]) => {
    for (const pattern of patterns) {
      for (const found of rest.matchAll(pattern)) take(found.index, found[0].length);
    }
  };
  for (const { pattern, read } of DATES) {
    for (const found of rest.matchAll(pattern)) {
      const shows = read(found.slice(1));
      if (!isMoment(shows)) continue;
      figures.push({
        kind: "date",
        text: found[0],
        start: found.index,
        end: found.index + found[0].length,
        shows,
      });
      take(found.index, found[0].length);
    }
  }
  const begun = [...DIGIT_FIRST, ...known.filter((name) => /^\d+[A-Za-z]/.test(name))].map(escaped);
  hide([SPAN_IN_WORDS]);
  hide([new RegExp(`(?<![\\w.,$-])(?:${begun.join("|")})(?!\\w)`, "gi"), ...NAMES, ...SPANS]);
  for (const found of rest.matchAll(SHARE)) {
    figures.push({
      kind: "unreadable",
      text: found[0],
      start: found.index,
      end: found.index + found[0].length,
    });
    take(found.index, found[0].length);
  }
  for (const { pattern, percent, within } of MULTIPLES) {
    for (const found of rest.matchAll(pattern)) {
      figures.push({
        ...numberAt(found.index, found[0]),
        value: percent,
        within,
        unit: "percent",
        isSigned: percent < 0,
      });
      take(found.index, found[0].length);
    }
  }
  figures.push(...digits(rest, take));
  figures.push(...words(rest, take));
  for (const found of rest.matchAll(/\p{Nd}+(?:[.,]\p{Nd}+)*/gu)) {
    figures.push({
      kind: "unreadable",
      text: found[0],
      start: found.index,
      end: found.index + found[0].length,
    });
  }
  return figures.sort((a, b) => a.start - b.start);
}

function escaped(name: string): string {
  return name.replace(/[\\^$.*+?()[\]{}|-]/g, "\\$&");
}

type NumberFigure = Extract<Figure, { kind: "number" }>;

function numberAt(start: number, text: string): NumberFigure {
  const end = start + text.length;
  const nothing = { value: 0, within: 0, unit: null, isSigned: false, mayBeYear: false };
  return { kind: "number", text, start, end, ...nothing };
}

const UNIT_AFTER = `(?:\\s*(%|‰|${PERCENT_WORDS}(?![A-Za-z])|basis points?|bps?\\b|US dollars?|dollars?|USD[TC]?\\b|gwei\\b|[x×](?![A-Za-z0-9]))|(st|nd|rd|th)\\b|\\s+([A-Z][A-Z0-9]{1,9})\\b)?`;

function digits(text: string, take: (start: number, length: number) => void): Figure[] {
  const pattern = new RegExp(
    `(?<![\\w.,])([+-]|(?<=[\\s(~])–)?\\s?(US\\$|\\$|USD ?|€|£)?\\s?([+-])?(${NUMBER})(?:[ -]?(${SCALE}))?${UNIT_AFTER}`,
    "g",
  );
  const figures: NumberFigure[] = [];
  for (const found of text.matchAll(pattern)) {
    const [whole, signBefore, money, signInside, number = "", scaleWord, unitWord, ordinal, ticker] = found;
    const sign = signBefore ?? signInside;
    const { value: bare, place } = valueOf(number);
    const scale = scaleWord === undefined ? 1 : (SCALES[scaleWord.toLowerCase()] ?? 1);
    const unit = unitOf(money, unitWord, ordinal, ticker);
    const value = bare * scale * (unitWord === "‰" ? 0.1 : 1) * (sign === "-" || sign === "–" ? -1 : 1);
    const lead = whole.length - whole.trimStart().length;
    figures.push({
      ...numberAt(found.index + lead, whole.trim()),
      value,
      within: roundingOf(value, place * scale, { isWhole: place >= 1, isScaled: scale > 1, unit }),
      unit,
      isSigned: sign !== undefined,
      mayBeYear: unit === null && scale === 1 && /^(?:19|20)\d\d$/.test(number) && sign === undefined,
    });
    take(found.index, whole.length);
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
    if (before !== undefined && before.unit === "usd" && joins(before, figure))
      return { ...figure, unit: "usd" };
    return figure;
  });
}

function words(text: string, take: (start: number, length: number) => void): Figure[] {
  const scales = "hundred|thousand|million|billion|trillion|dozen";
  const pattern = new RegExp(
    `(?<![\\w-])(minus )?(?:(${WORD_NUMBER})(?:[ -](${scales}))?|(half an?|an?) (${scales})|((?:(?:a )?(?:quarter|tenth) of|half) an?|an?)(?= ${PERCENT_WORDS}))(?: (${PERCENT_WORDS}|basis points?|dollars?|US dollars?))?(?![\\w-])`,
    "gi",
  );
  const figures: Figure[] = [];
  for (const found of text.matchAll(pattern)) {
    const [whole, minus, word, scaleAfterWord, ofScale, scaleAfterArticle, ofPercent, unitWord] = found;
    const [first = "", second] = (word ?? "").toLowerCase().split("-");
    const scaleWord = scaleAfterWord ?? scaleAfterArticle;
    const article = ofScale ?? ofPercent;
    const bare =
      article === undefined
        ? (WORDS[first] ?? 0) + (second === undefined ? 0 : (WORDS[second] ?? 0))
        : (ARTICLES[article.toLowerCase()] ?? 1);
    if (bare <= SMALL && scaleWord === undefined && unitWord === undefined) continue;
    const scale = scaleWord === undefined ? 1 : (SCALES[scaleWord.toLowerCase()] ?? 1);
    const value = bare * scale * (minus === undefined ? 1 : -1);
    const unit = unitOf(undefined, unitWord, undefined, undefined);
    figures.push({
      ...numberAt(found.index, whole),
      value,
      within: roundingOf(value, scale, { isWhole: true, isScaled: scale > 1, unit }),
      unit,
      isSigned: minus !== undefined,
    });
    take(found.index, whole.length);
  }
  return figures;
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
    return lower === "x" || lower === "×" ? "times" : "usd";
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
  const own = isScaled ? Math.min(half, size * MOST_SCALED_ROUNDING) : half;
  return Math.max(own, Math.min(shown / 2, size * MOST_ROUNDING));
}

function isMoment({ month = 1, day = 1, hour = 0, minute = 0 }: Record<string, number>): boolean {
  return month >= 1 && month <= 12 && day >= 1 && day <= 31 && hour <= 24 && minute < 60;
}
