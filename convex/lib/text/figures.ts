import {
  A_SCALE,
  ALL_MAJORS,
  BLANK,
  EACH_DOLLAR,
  MULTIPLES,
  LARGEST,
  LONGER,
  NUMBER_ENDS,
  OF,
  OVER,
  OVER_BEHIND,
  PLACES,
  READ,
  SCALES,
  UNDER,
  UNDER_BEHIND,
  UNITS,
  UNREAD,
  type Written,
} from "./languages";
import { words } from "./locales";

/** Finds the figures that a writer wrote, in digits or in words: where they are, and what they may mean. Pure. */

export type Place = { start: number; end: number };

type Groups = Readonly<Record<string, string | undefined>>;
type Found = Place & { text: string; groups: Groups };

/** Where a pattern matches in a text, and what it matches. */
export function foundIn(text: string, pattern: RegExp): Found[] {
  return Array.from(text.matchAll(pattern), foundOf);
}

function foundOf({ 0: text, index: start, groups = {} }: RegExpExecArray): Found {
  return { start, end: start + text.length, text, groups };
}

/** As if all patterns were one, in parts: one of all of them would take half a second to compile. */
function foundInAny(text: string, patterns: readonly RegExp[]): Found[] {
  const found: Found[] = [];
  let end = 0;
  let ahead = patterns.map((pattern) => ({ pattern, next: nextIn(text, pattern, end) }));
  for (;;) {
    const first = ahead
      .flatMap(({ next }) => next ?? [])
      .reduce<Found | null>((a, b) => (a === null || b.start < a.start ? b : a), null);
    if (first === null) return found;
    found.push(first);
    end = first.end;
    ahead = ahead.flatMap(({ pattern, next }) =>
      next === null ? [] : { pattern, next: next.start < end ? nextIn(text, pattern, end) : next },
    );
  }
}

function nextIn(text: string, pattern: RegExp, from: number): Found | null {
  pattern.lastIndex = from;
  const next = pattern.exec(text);
  return next === null ? null : foundOf(next);
}

/** A possible value of a figure, and the value of one unit in its last place. */
type Reading = { value: number; place: number };

export type Figure = Place & {
  text: string;
  /** By both conventions of writing numbers; none if it is in words, or fits neither. */
  readings: readonly Reading[];
  unit: Written;
  /** The factor of its scale and its unit. */
  times: number;
  /** The capital letters after it. */
  ticker: string | null;
  sign: -1 | 0 | 1;
  bound: "over" | "under" | null;
};

const scaled = (readings: readonly Reading[], times: number): Reading[] =>
  readings.map(({ value, place }) => ({ value: value * times, place: place * times }));

/** The text with some places blanked out, at the same length. */
export function without(text: string, places: readonly Place[]): string {
  return places.reduce(
    (rest, { start, end }) => rest.slice(0, start) + BLANK.repeat(end - start) + rest.slice(end),
    text,
  );
}

/**
 * @param text A sentence in which everything that is not the writer's own figure is blanked out, at the same length.
 * @param point The decimal mark of its language.
 */
export function figuresIn(text: string, point: "." | ","): Figure[] {
  const figures: Figure[] = [];
  for (const patterns of [[IN_DIGITS], IN_WORDS, [OTHER_DIGITS]]) {
    const rest = without(text, figures);
    figures.push(...foundInAny(rest, patterns).map((found) => figureOf(rest, found, point)));
  }
  const sorted = figures.sort((a, b) => a.start - b.start);
  return sorted.map((figure, index) => ofRange(text, figure, sorted[index + 1]));
}

/** The first of "24 to 48 hours", "$94.2-98.1k" has the unit and the scale of the second. */
function ofRange(text: string, figure: Figure, next: Figure | undefined): Figure {
  if (next === undefined || figure.times !== 1) return figure;
  const isOne = figure.unit === "none" || next.unit === "none" || figure.unit === next.unit;
  if (!isOne || !/^\s?(?:to|[-–—]|bis|a|à|至|到)\s?$/u.test(text.slice(figure.end, next.start)))
    return figure;
  const unit = figure.unit === "none" ? next.unit : figure.unit;
  return { ...figure, unit, readings: scaled(figure.readings, next.times) };
}

function figureOf(text: string, { start, end, text: phrase, groups }: Found, point: "." | ","): Figure {
  const { sign = "", inner = "", number, ticker = null, multiple } = groups;
  const [, written = "other"] = SAYS.find(([group]) => groups[group] !== undefined) ?? [];
  const before = text.slice(Math.max(0, start - 40), start);
  // "It tops that by a fifth" states a gap; "two dollars for each dollar" a ratio.
  const isGap =
    multiple !== undefined &&
    written === "times" &&
    /(?<!\p{L})(?:by|um) (?:over |nearly |almost |gut |fast )?$/u.test(before);
  const isRatio = phrase.endsWith("dollars") && EACH_DOLLAR.test(text);
  const unit = isGap ? "percent" : isRatio ? "times" : written;
  const times = TIMES.reduce(
    (all, [group, by]) => (groups[group] === undefined ? all : all * by),
    isGap ? 100 : 1,
  );
  const readings = number === undefined ? inWords(groups) : inDigits(number, point);
  const signs = sign + inner;
  return {
    ...{ start, end, text: phrase, unit, times, ticker, readings: scaled(readings, times) },
    sign: signs === "" ? 0 : /\+|plus|más/i.test(signs) ? 1 : -1,
    bound: boundOf(before, text.slice(end)),
  };
}

const END = "(?!\\p{Script=Latin})";
const ANY_UNIT = `(?:${UNITS.map(({ list }, index) => `(?<u${index}>${list})`).join("|")})${END}`;
const ANY_SCALE = `(?:${SCALES.map(({ list }, index) => `(?<s${index}>${list})`).join("|")})${END}`;

const SIGN =
  "(?<![\\p{L}\\p{N}.)\\]}%])[+-]|(?<=\\p{Script=Hiragana})[+-]|(?<!\\p{L})(?:[Pp]lus|[Mm]inus|negative|menos|moins|más)\\s|负|マイナス";
const FRONT =
  "(?<money>US\\$|(?<!\\p{L})USD|(?<!R)\\$)|(?<other>R\\$|[€£¥₿]|(?<!\\p{L})(?:EUR|GBP|JPY|CNY|CHF|AUD|CAD))|(?<percent>百分之)|" +
  "(?<place>[#№第]|(?<!\\p{L})(?:No\\.|Nr\\.|[Nn]umber|[Rr]ank|Platz|place|puesto|rang|posição|posición)\\s?#?)";
const DIGITS = "(?<![\\d.,])\\.?\\d+(?:[.,'’]\\d+| \\d{3}(?!\\d))*";
const IN_DIGITS = new RegExp(
  `(?:(?<sign>${SIGN})\\s?)?(?:(?:${FRONT})\\s?(?<inner>[+-])?)?(?<number>${DIGITS})(?:[\\s-]?(?:de )?${ANY_SCALE})?` +
    `(?:[\\s-]?(?:de )?${ANY_UNIT}|(?<ordinal>(?:st|nd|rd|th|º|ª|er|ère|e|ème|位|名)${END})|\\s?(?<ticker>[A-Z][A-Z0-9]{1,9})(?![\\p{L}\\d]))?`,
  "gu",
);

/** What parts of the patterns below say about a figure's unit, and their factors; the first match counts. */
const SAYS: readonly (readonly [group: string, unit: Written])[] = [
  ...(["money", "other", "percent", "place"] as const).map((unit) => [unit, unit] as const),
  ...([
    ["ordinal", "place"],
    ["ranked", "place"],
    ["nth", "order"],
  ] as const),
  ...([
    ["cent", "percent"],
    ["point", "percent"],
    ["multiple", "times"],
    ["part", "times"],
  ] as const),
  ...UNITS.map(({ unit }, index) => [`u${index}`, unit] as const),
  ...([
    ["ticker", "coins"],
    ...SCALES.map((_one, index) => [`s${index}`, "none"] as const),
    ["number", "none"],
    ["count", "none"],
  ] as const),
];
const TIMES: readonly (readonly [group: string, times: number])[] = [
  ...UNITS.map(({ times }, index) => [`u${index}`, times] as const),
  ...SCALES.map(({ times }, index) => [`s${index}`, times] as const),
  ["point", 0.01],
];

/** Three digits after one mark are thousands or decimals: "8,000" is never 8.000 where a point is the decimal mark. */
function inDigits(number: string, point: "." | ","): Reading[] {
  const first = number.replace(/[\s'’]/g, "");
  const marks = first.match(/[.,]/g) ?? [];
  const mark = marks.at(-1) ?? "";
  const digits = first.replace(/[.,]/g, "");
  const behind = mark === "" ? 0 : first.length - first.lastIndexOf(mark) - 1;
  const isGrouped = /^[1-9]\d{0,2}([.,])\d{3}(?:\1\d{3})*$/.test(first);
  const isOnce = mark !== "" && first.indexOf(mark) === first.lastIndexOf(mark);
  const isParted = isOnce && !(isGrouped && mark === "," && point === ".");
  // Trailing zeros may only show that it is rounded.
  const last = [...digits].findLastIndex((digit) => digit !== "0");
  const zeros = Math.min(digits.length - 1 - last, Math.max(0, digits.length - 2));
  return [
    ...(mark === "" || isGrouped ? [{ value: Number(digits), place: 10 ** zeros }] : []),
    ...(isParted ? [{ value: Number(digits) / 10 ** behind, place: 10 ** (zeros - behind) }] : []),
  ];
}

/** A word beside a figure makes it a bound. */
function boundOf(before: string, after: string): Figure["bound"] {
  const [, over, under] = BOUND_BEFORE.exec(before) ?? BOUND_BEHIND.exec(after) ?? [];
  return over !== undefined ? "over" : under !== undefined ? "under" : null;
}

const BOUND_BEFORE = new RegExp(
  `(?<!\\p{L})(?:(${OVER})|(${UNDER}))\\s?(?:the |a |an |some |about |de |d['’])?$`,
  "iu",
);
const BOUND_BEHIND = new RegExp(`^\\s?(?:(${OVER_BEHIND})|(${UNDER_BEHIND}))`, "u");

/** What comes before a unit that alone, without a number, implies one. */
const ALONE =
  "%|percent|per cent|Prozent(?!ual)|percentage points?|por ciento|pour cent|por cento|basis points?|Basispunkten?|puntos b[áa]sicos|points de base|pontos[- ]base|thousand|Tausend|millions?|billions?|trillions?|Millionen|Milliarden?|Billionen|mill[óo]n(?:es)?|billones|milliards?|[mbtr]{1,2}ilh(?:ão|ões)|百分之\\p{Script=Han}+|パーセント|(?:процент|доллар|тысяч|миллион|миллиард)\\p{L}*|퍼센트";
const KNOWN = `${READ.map(({ list }) => list).join("|")}|${A_SCALE}`;
const NUMBER = `(?:(?<!\\p{L})(?:${KNOWN})|\\p{Script=Latin}{0,20}(?:${NUMBER_ENDS})(?:-(?:${KNOWN}))?)`;
/** "Six of the fifty"; other small numbers before ordinary words are just words. */
const COUNTED =
  `(?!(?:one|two|eine?[mnrs]?|zwei|un[aoe]?|dos|deux|uma?|dois|duas|half|halb|medio|demi|meio) )${NUMBER}` +
  `(?= (?:${OF})(?: (?:the|las?|los|der|den|die))?(?: top| largest| last)? (?:\\d|${NUMBER}(?!\\p{L})))|` +
  `(?<=perfect )(?:${KNOWN})|` +
  "(?:(?:thir|four|fif|six|seven|eigh|nine)teen|(?:twen|thir|for|six|seven|eigh|nine)t(?:y|ies))(?:-\\p{L}+)?";
/** A rank or a multiple, a count, a number in words with its unit, or a unit alone. */
const IN_WORDS = [
  `${UNREAD}|(?<nth>${ALL_MAJORS.map(({ list }) => list).join("|")}|(?:${PLACES.map(({ list }) => list).join("|")})[- ]?(?:${LARGEST}))`,
  `(?<multiple>${MULTIPLES.map(({ list }, index) => `(?<m${index}>${list})`).join("|")})(?: of (?:a|one) (?:(?<cent>per ?cent)|(?<point>basis point)))?`,
  `(?<part>${NUMBER}) (?:in|out of) (?:every )?(?<whole>${NUMBER})`,
  `${NUMBER}(?: \\p{L}+ (?:for|to) (?:one|each|every)|[- ]?fold| straight| consecutive)`,
  `(?<=(?:number|no\\.|rank|Platz|puesto|rang|posição) )(?<ranked>${NUMBER})`,
  `(?<amount>(?:${NUMBER}[ -](?:(?:and|et|y|e|und) )?(?:a )?){1,5}|[零〇一二两三四五六七八九十百千万亿億兆点]{1,12}\\s?)(?:${ANY_SCALE} ?)?(?:${ANY_UNIT}|成|割|(?<=[mbr]illions? ?|Millionen ?|Milliarden ?))`,
  `(?<count>${COUNTED})`,
  ALONE,
].map(words);
/** Everything else that expresses numbers: digits in no known order, Roman, raised or circled ones. */
const OTHER_DIGITS = /\p{N}{1,40}/gu;

/** A multiple in a word may be a tenth off, a small number half of one. */
function inWords({ amount, count, ranked, nth, part, whole, ...groups }: Groups): Reading[] {
  const multiple = MULTIPLES.find((_one, index) => groups[`m${index}`] !== undefined)?.times;
  if (multiple !== undefined) return [{ value: multiple, place: multiple / 5 }];
  const value = spelt(amount ?? count ?? ranked ?? nth ?? part ?? "");
  if (value === undefined) return [];
  if (whole === undefined) return [{ value, place: Math.min(1, value / 2) }];
  // "Four in five": the next value that could be said is a fifth away.
  const all = spelt(whole);
  return all === undefined ? [] : [{ value: value / all, place: 1 / all }];
}

const spelt = (phrase: string): number | undefined =>
  SPELT.find(({ pattern }) => pattern.test(phrase))?.value;

const SPELT = [
  { value: 1, pattern: /^an? $/i },
  ...[...READ, ...LONGER].map(({ times: value, list }) => ({
    value,
    pattern: new RegExp(`^(?:une? |um )?(?:${list})(?:[ -]a)?[ -]?$`, "iu"),
  })),
  ...ALL_MAJORS.map(({ times: value, list }) => ({ value, pattern: new RegExp(list, "iu") })),
  ...PLACES.map(({ times: value, list }) => ({
    value,
    pattern: new RegExp(`^(?:${list})[ -]?(?:${LARGEST})`, "iu"),
  })),
];
