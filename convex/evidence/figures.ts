import { withoutTrailing } from "../lib/text";
import { namesIn } from "../lib/records";
import {
  HOURS,
  MULTIPLES,
  NUMBER_ENDS,
  NUMBERS,
  OVER,
  OVER_BEHIND,
  SCALES,
  UNDER,
  UNDER_BEHIND,
  UNITS,
  words,
} from "./languages";

/**
 * The figures that a writer wrote itself, in digits or in words: where they stand, and which digits they have. How many
 * zeros and what unit they mean, is not read: what takes their place says it. Pure.
 */

export type Place = { start: number; end: number };

export type Figure = Place & {
  text: string;
  /** Its digits that count, as a whole number; `null` where it cannot be read. */
  digits: number | null;
  /** What one in its last place is worth, as a part of the digits. */
  place: number;
  /** Whether it is of millions and more, by its scale or its length; `null` where that may be. */
  isLarge: boolean | null;
  unit: keyof typeof UNITS | "money" | "place" | "coins" | "none";
  /** The capitals behind it. */
  ticker: string | null;
  sign: -1 | 0 | 1;
  bound: "over" | "under" | null;
  /** A multiple or a share in words, such as "twice", "four in five": what it says. */
  share: number | null;
};

/** In the place of what is read already: no letter, no digit, no mark. */
const BLANK = "\uE000";

/** The text with some of its places out of the way, at their length. */
export function without(text: string, places: readonly Place[]): string {
  return places.reduce(
    (rest, { start, end }) => rest.slice(0, start) + BLANK.repeat(end - start) + rest.slice(end),
    text,
  );
}

/** @param text A sentence in which what is no figure of the writer's is out of the way, at its length. */
export function figuresIn(text: string): Figure[] {
  const figures = Array.from(text.matchAll(IN_DIGITS), (found) => inDigits(text, found));
  for (const pattern of [IN_WORDS, OTHER_DIGITS]) {
    const rest = without(text, figures);
    figures.push(...Array.from(rest.matchAll(pattern), (found) => inWords(rest, found)));
  }
  return figures.sort((a, b) => a.start - b.start);
}

const END = "(?!\\p{Script=Latin})";
const unitNames = namesIn(UNITS);
const ANY_UNIT = `(?:${unitNames.map((unit) => `(?<${unit}>${UNITS[unit]})`).join("|")})${END}`;
const unitOf = ({ groups }: RegExpMatchArray) => unitNames.find((unit) => groups?.[unit] !== undefined);

const SIGN =
  "(?<![\\p{L}\\p{N}.)\\]}%])[+-]|(?<!\\p{L})(?:[Pp]lus|[Mm]inus|negative|menos|moins|más)\\s|负|マイナス";
const FRONT =
  "(?<front>US\\$|(?<!\\p{L})USD|(?<!R)\\$)|(?<foreign>R\\$|[€£¥₿]|(?<!\\p{L})(?:EUR|GBP|JPY|CNY|CHF|AUD|CAD))|(?<share>百分之)|" +
  "(?<nth>[#№第]|(?<!\\p{L})(?:No\\.|Nr\\.|[Nn]umber|[Rr]ank|Platz|place|puesto|rang|posição|posición)\\s?#?)";
const DIGITS = "(?<![\\d.,])\\.?\\d+(?:[.,'’]\\d+| \\d{3}(?!\\d))*(?:[万億亿]\\d+)*";
const IN_DIGITS = new RegExp(
  `(?:(?<sign>${SIGN})\\s?)?(?:(?:${FRONT})\\s?(?<inner>[+-])?)?(?<number>${DIGITS})(?:[\\s-]?(?:de )?(?<scale>${SCALES})${END})?` +
    `(?:[\\s-]?(?:de )?${ANY_UNIT}|(?<ordinal>(?:st|nd|rd|th|º|ª|er|ère|e|ème|位|名)${END})|\\s?(?<ticker>[A-Z][A-Z0-9]{1,9})(?![\\p{L}\\d]))?`,
  "gu",
);

/** What stands before a number, by its unit. */
const FRONTS = [
  ["front", "money"],
  ["foreign", "other"],
  ["share", "percent"],
] as const;

function inDigits(text: string, found: RegExpExecArray): Figure {
  const {
    sign = "",
    inner = "",
    number = "",
    scale = "",
    ticker = null,
    nth,
    ordinal,
    ...fronts
  } = found.groups ?? {};
  const before = FRONTS.find(([name]) => fronts[name] !== undefined)?.[1];
  const isPlace = nth !== undefined || ordinal !== undefined;
  const named = unitOf(found) ?? (ticker === null ? "none" : "coins");
  const behind = isPlace ? "place" : scale !== "" && named in HOURS ? "other" : named;
  const digits = number.replace(/\D/g, "").replace(/^0+/, "");
  const counting = withoutTrailing(digits, "0");
  const said = sign + inner;
  const isThousands = /^(?:k|K|t[hs]\w+|Ts\w+\.?|Ta\w+|mil|mille|万)$/.test(scale);
  return {
    ...placed(text, found),
    ...{ unit: before ?? behind, ticker, share: null },
    // Zeros at the end may show no more than that it is rounded.
    digits: Number(digits),
    place: /[.,]\d{0,2}$/.test(number)
      ? 1
      : 10 ** Math.min(digits.length - counting.length, Math.max(0, digits.length - 2)),
    isLarge: isThousands ? null : scale !== "" || Number(number.replace(/[.,]\d{1,2}$|\D/g, "")) >= 1e6,
    sign: said === "" ? 0 : /\+|plus|más/i.test(said) ? 1 : -1,
  };
}

/** Where a figure stands, and whether a word beside it makes it a bound. */
function placed(text: string, { 0: told, index: start }: RegExpExecArray) {
  const end = start + told.length;
  const before = text.slice(Math.max(0, start - 40), start);
  const [, over, under] = BOUND_BEFORE.exec(before) ?? BOUND_BEHIND.exec(text.slice(end)) ?? [];
  const bound = over !== undefined ? ("over" as const) : under !== undefined ? ("under" as const) : null;
  return { start, end, text: told, bound };
}

const BOUND_BEFORE = new RegExp(
  `(?<!\\p{L})(?:(${OVER})|(${UNDER}))\\s?(?:the |a |an |some |about |de |d['’])?$`,
  "iu",
);
const BOUND_BEHIND = new RegExp(`^\\s?(?:(${OVER_BEHIND})|(${UNDER_BEHIND}))`, "u");

const KNOWN = Object.keys(NUMBERS).join("|");
/** Whatever is before a unit that only stands behind numbers says one. */
const ALONE =
  "%|percent|per cent|Prozent(?!ual)|percentage points?|por ciento|pour cent|por cento|basis points?|Basispunkten?|puntos b[áa]sicos|points de base|pontos[- ]base|millions?|billions?|trillions?|Millionen|Milliarden?|Billionen|mill[óo]n(?:es)?|billones|milliards?|[mbtr]{1,2}ilh(?:ão|ões)|百分之\\p{Script=Han}+|パーセント";
/** A multiple, a share, a number in words with its unit, or a unit alone. */
const IN_WORDS = words(
  `(?:${MULTIPLES.map(({ words: list }, index) => `(?<m${index}>${list})`).join("|")})(?<of> of (?:a|one) (?:per ?cent|basis point))?|(?<part>${KNOWN}) (?:in|out of) (?:every )?(?<all>${KNOWN})|` +
    `(?<amount>(?:\\p{Script=Latin}{0,20}(?:${KNOWN}|${NUMBER_ENDS})[ -](?:(?:and|et|y|e|und) )?(?:a )?){1,5}|[零〇一二两三四五六七八九十百千万亿億兆点]{1,12}\\s?)(?:${ANY_UNIT}|成|割|points?)|(?:${ALONE})`,
);
/** Whatever else says numbers: digits in no order of any convention, Roman ones, raised or circled ones. */
const OTHER_DIGITS = /\p{N}{1,40}/gu;

function inWords(text: string, found: RegExpExecArray): Figure {
  const { amount = "", part = "", all = "", of, ...groups } = found.groups ?? {};
  const numberOf = (told: string) =>
    NUMBERS[told.toLowerCase().replace(/[ -]{1,3}(?:a[ -]{1,3})?$/, "")] ?? Number.NaN;
  const multiple = MULTIPLES.find((_one, index) => groups[`m${index}`] !== undefined)?.value;
  const share = multiple ?? numberOf(part) / numberOf(all);
  const isShare = !Number.isNaN(share);
  const digits = numberOf(amount);
  return {
    ...placed(text, found),
    ...{
      digits: Number.isNaN(digits) ? null : digits,
      place: Math.min(1, digits / 2),
      isLarge: null,
      ticker: null,
      sign: 0,
    },
    unit: of !== undefined ? "percent" : isShare ? "times" : (unitOf(found) ?? "other"),
    share: isShare ? share : null,
  };
}
