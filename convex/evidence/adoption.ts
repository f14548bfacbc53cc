import { withoutTrailing } from "../lib/text";
import type { Shown } from "./amounts";
import type { Source } from "./facts";
import { figuresIn, type Figure } from "./figures";
import { wordingOf } from "./wordings";
import { AHEAD, HOURS, OF, UNITS, WITHIN } from "./languages";
import { ofFact, operated, type Operation, type Printed } from "./slots";

/**
 * What a writer's own figure is, by the facts that it may be of: the figure of one of them, or what one operation makes of
 * two. It is printed from the facts, so that it cannot be another than theirs. Pure.
 */

/** `said`: what stays of it because it is true, its words or a bound; the bracket says how much it is. */
export type Adopted = { printed: Printed; said?: string | number };

/** What a figure may be of: its sentence's facts, the nearest first, and what else these are compared with. */
export type Choice = { facts: readonly Source[]; others: readonly Source[]; isSummed: boolean };

export function adopted(figure: Figure, choice: Choice): Adopted | null {
  const facts = choice.facts.filter(({ value }) => value !== null).map(ofFact);
  return adoptedFrom(facts, figure) ?? adoptedFrom(comparisons(figure, choice), figure);
}

function adoptedFrom(all: readonly Printed[], figure: Figure): Adopted | null {
  if (figure.share !== null) {
    const shared = all.find((one) => isShareOf(figure, one));
    return shared === undefined ? null : { printed: shared, said: figure.text };
  }
  for (const one of figure.bound === null ? [] : all) {
    const bound = boundOf(figure, one);
    if (bound !== null) return { printed: one, said: bound };
  }
  const found = all.find((one) => says(figure, one));
  return found === undefined ? null : { printed: found };
}

/** More facts than this make some two of them add up to anything. */
const MOST_COMPARED = 24;
const COMPARED: Partial<Record<Figure["unit"], readonly Operation[]>> = {
  ...{ times: ["/"], none: ["/"], percent: ["-", "%"], money: ["-"], gwei: ["-"], coins: ["-"] },
};

/** What may be made of two facts in the unit of a figure. */
function comparisons({ unit }: Figure, { facts, others, isSummed }: Choice): Printed[] {
  if (facts.length > MOST_COMPARED) return [];
  const all = [...facts, ...others];
  const isTold = (one: Source) => facts.includes(one);
  const pairs = all.flatMap((a) => all.flatMap((b) => (a !== b && (isTold(a) || isTold(b)) ? [[a, b]] : [])));
  const operations = [...(COMPARED[unit] ?? []), ...(isSummed ? (["+"] as const) : [])];
  return operations.flatMap((operation) => pairs.flatMap((pair) => operated(pair, operation) ?? []));
}

/** In what a printed unit may be written. */
const WRITTEN: Readonly<Record<Shown, Figure["unit"]>> = {
  ...{ USD: "money", percent: "percent", points: "percent", bps: "percent", times: "times", gwei: "gwei" },
  ...{ coins: "coins", ratio: "coins", place: "place", count: "none", text: "other" },
};

/** Whether a figure can be of this fact at all, by its unit and sign. */
function isOfKind(
  { unit, ticker, sign }: Figure,
  { value, unit: shown, operation, sources }: Printed,
): boolean {
  const isUnit = unit === WRITTEN[shown] || (unit === "none" && (operation === null || shown === "times"));
  const isCoin = ticker === null || shown === "ratio" || sources[0]?.about?.subject === ticker;
  // Of a difference only how large it is, is said.
  const isSigned = sign === 0 || operation === "-" || Math.sign(value) === sign;
  return isUnit && isCoin && isSigned;
}

/** A figure may be this far from the fact, if its last place is coarser still. */
const MOST_OFF = 0.05;
/** With fewer digits a bare number is only what it says, not its million. */
const TELLING = 100;

/** From here on amounts of money are written as millions. */
const LARGE = 999_500;

/** What a figure says where it is of this size: its digits, with as many zeros as come nearest. */
function saidOf(
  { digits, place, unit, text, isLarge }: Figure,
  size: number,
): { value: number; place: number } | null {
  if (digits === null || digits === 0 || size === 0)
    return digits === 0 && size === 0 ? { value: 0, place: 0 } : null;
  if (unit === "money" && isLarge !== null && isLarge !== size >= LARGE) return null;
  const power = 10 ** Math.round(Math.log10(size / digits));
  const behind = /[.,](\d+)$/.exec(text)?.[1]?.length ?? 0;
  const isTelling = unit !== "none" || digits >= TELLING || power === 1 || power === 10 ** -behind;
  return isTelling ? { value: digits * power, place: place * power } : null;
}

/** Whether a figure has the digits of what would be printed in its place, as exactly as it is written. */
function says(figure: Figure, made: Printed): boolean {
  const size = Math.abs(made.value);
  const said = isOfKind(figure, made) ? saidOf(figure, size) : null;
  if (said === null) return false;
  const off = Math.abs(said.value - size);
  const isWhole = made.unit === "count" || made.unit === "place";
  return isWhole
    ? said.value === size
    : off <= said.place / 2 || (off < said.place && off <= size * MOST_OFF);
}

const MOST_DIGITS = 3;
/** How many times a bound what is so may be, and how many times it is a multiple in a word. */
const FAR_BOUND = 1.25;
const FAR_WORD = 1.6;
const NEAR_WORD = 0.1;

/** What a bound says of a fact, where that is true and says something: of "over $97k" 97,000. */
function boundOf(figure: Figure, made: Printed): number | null {
  const { bound, digits } = figure;
  const size = Math.abs(made.value);
  const said = bound === null || !isOfKind(figure, made) ? null : saidOf(figure, size);
  if (said === null || withoutTrailing(String(digits), "0").length > MOST_DIGITS) return null;
  return holds(said.value, size, bound, FAR_BOUND) ? said.value : null;
}

function holds(said: number, size: number, bound: Figure["bound"], far: number): boolean {
  if (bound === null) return Math.abs(size - said) <= NEAR_WORD * said;
  return Math.max(size / said, said / size) <= far && (bound === "over" ? size > said : size < said);
}

/** Whether a multiple or a share in words is true of what was made, or of a single fact: 38 of 50, 76 %, a fall of 50 %. */
function isShareOf(
  { share, bound, unit }: Figure,
  { sources: [source], operation, value, unit: shown }: Printed,
): boolean {
  if (share === null || source?.about == null) return false;
  const is = (size: number) => holds(share, size, bound, FAR_WORD);
  if (unit === "percent") return WRITTEN[shown] === "percent" && is(Math.abs(value));
  if (operation !== null) return shown === "times" && is(value);
  const { family, aside, isSigned } = wordingOf(source.about.kind);
  if (shown === "count") return aside !== null && is(value / aside.value);
  const isMultiple = isSigned && (share >= 2 || share === 0.5);
  return shown === "percent" && (isMultiple ? is(1 + value / 100) : family === "share" && is(value / 100));
}

/** Some two facts add up to most figures: a plain one is a sum only where a word says so. */
export const SUMMED =
  /(?<!\p{L})(?:together|combined|in total|both|zusammen|insgesamt|juntos|en conjunto|ensemble|au total|no total|合计|共|合計)/iu;

const OF_BEFORE = new RegExp(
  `(?:${OF})\\s?(?:the |los |las |der |den |les |as |os |top |largest |最大的?)*$`,
  "iu",
);
const OF_BEHIND = /^\s?个?(?:最大|主要)?(?:的)?(?:币种|代币|币)(?:中|里)/u;
const WITHIN_BEFORE = new RegExp(`(?:${WITHIN})\\s?(?:about |einem |1 )?$`, "iu");
const WITHIN_BEHIND = /^\s?(?:of|from|around|either side|vom|um|del?|do|du|以内|范围)(?!\p{L})/iu;
const AHEAD_BEFORE = new RegExp(
  `(?<!\\p{L})(?:${AHEAD})(?: few)?\\s?(?:\\d+\\s?(?:to|-|–|bis|a|à)\\s?)?$`,
  "iu",
);

const TO_SPAN = new RegExp(
  `^\\s?(?:to|-|–|bis|a|à|至|到)\\s?\\d+[\\s-]?(?:${UNITS.hours}|${UNITS.days})`,
  "u",
);

/** Whether a figure is also in the words of a fact that its sentence cites, which the bracket shows. */
export function isRepeated({ text }: Figure, told: readonly Source[]): boolean {
  return told.some(({ words }) => words !== null && figuresIn(words).some((one) => one.text === text));
}

/**
 * Whether a figure only repeats a number in what its sentence's facts are called: "of the 50 largest", "in 24 hours".
 * @param shown The facts whose figures stand before it: of fifty coins as many did not rise as are left.
 */
export function isAside(
  figure: Figure,
  text: string,
  { told, shown, known }: Record<"told" | "shown" | "known", readonly Source[]>,
): boolean {
  const { unit, digits, start, end } = figure;
  const [before, after] = [text.slice(Math.max(0, start - 30), start), text.slice(end)];
  const isRest = ({ about, value }: Source) =>
    about !== null && value !== null && (wordingOf(about.kind).aside?.value ?? value) - value === digits;
  if (unit === "none" && digits !== 0 && shown.some(isRest)) return true;
  // A table's head is of any of the facts.
  const of = told.length === 0 && text.startsWith("|") ? known : told;
  const wordings = of.flatMap(({ about }) => (about === null ? [] : wordingOf(about.kind)));
  const hours = HOURS[unit];
  const isSpan = hours !== undefined || (unit === "none" && TO_SPAN.test(after));
  if (isSpan && AHEAD_BEFORE.test(text.slice(0, start))) return true;
  if (hours === undefined) {
    const isOf = unit === "none" && (OF_BEFORE.test(before) || OF_BEHIND.test(after));
    const isWithin = unit === "percent" && (WITHIN_BEFORE.test(before) || WITHIN_BEHIND.test(after));
    return wordings.some(
      ({ aside }) => aside?.value === digits && (aside?.unit === "none" ? isOf : isWithin),
    );
  }
  // "The day's low is that of 48 hours, too": a fact that says the same of the same.
  const isAlike = (one: Source) =>
    told.length === 0 ||
    told.some(({ value, about }) => value === one.value && about?.subject === one.about?.subject);
  const spans = known.filter(isAlike).flatMap(({ about }) => (about === null ? [] : wordingOf(about.kind)));
  return [...wordings, ...spans].some((one) => one.hours !== null && one.hours === hours * (digits ?? 0));
}
