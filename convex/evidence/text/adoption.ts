import type { Shown } from "../../lib/text/locales";
import type { Source } from "./sources";
import { figuresIn, type Figure } from "../../lib/text/figures";
import { AHEAD, OF, WITHIN, type Written } from "../../lib/text/languages";
import { isPlace, ofFact, operated, sums, type Operation, type Printed } from "./slots";
import { wordingOf, type Wording } from "../wordings";

/**
 * What a writer's own figure is, by the facts that it may be of: the figure of one of them, or what one operation makes of
 * two. It is printed from the facts, so that it cannot be another than theirs. Pure.
 */

/** `said`: a bound that stays because it is true; the bracket says how much it is. */
export type Adopted = Printed & { said?: number };

/** What a figure may be of: its sentence's facts, the nearest first, and what else these are compared with. */
export type Choice = Record<"facts" | "others", readonly Source[]> &
  Record<"isSummed" | "isUncited", boolean>;

export function adopted(figure: Figure, choice: Choice): Adopted | null {
  const facts = choice.facts.filter(({ value }) => value !== null).map(ofFact);
  if (choice.isUncited && isDoubtful(figure, facts)) return null;
  return adoptedFrom(facts, figure) ?? adoptedFrom(comparisons(figure, choice), figure);
}

/** What a figure may be of what would be printed: its value, or else a bound of it; the first that it fits. */
function adoptedFrom(all: readonly Printed[], figure: Figure): Adopted | null {
  const alike = all.filter((made) => isOfKind(figure, made));
  const own = alike.find((made) => isValue(figure, made));
  if (own !== undefined || figure.bound === null) return own ?? null;
  return alike.flatMap((made) => boundOf(figure, made) ?? [])[0] ?? null;
}

/** More facts than this make some two of them add up to anything. */
const MOST_COMPARED = 24;

const COMPARED: Partial<Record<Written, readonly Operation[]>> = {
  ...{ times: ["/"], none: ["/"], percent: ["-", "%", "gap"], money: ["-"], gwei: ["-"], coins: ["-"] },
};

/** What may be made of the facts in the unit of a figure. */
function comparisons({ unit }: Figure, { facts, others, isSummed }: Choice): Printed[] {
  if (facts.length > MOST_COMPARED) return [];
  const all = [...new Set([...facts, ...others])];
  const isPair = (a: Source, b: Source) => a !== b && (facts.includes(a) || facts.includes(b));
  const pairs = all.flatMap((a) => all.flatMap((b) => (isPair(a, b) ? [[[a], [b]]] : [])));
  const made = (COMPARED[unit] ?? []).flatMap((sign) => pairs.flatMap((pair) => operated(pair, sign) ?? []));
  if (!isSummed) return made;
  const both = pairs.map((pair) => pair.flat());
  return [...made, ...sums(facts, both)];
}

/** In what a printed unit may be written. */
const WRITTEN: Readonly<Record<Shown, Written>> = {
  ...{ USD: "money", percent: "percent", points: "percent", bps: "percent", times: "times", gwei: "gwei" },
  ...{ coins: "coins", ratio: "coins", place: "place", count: "none", text: "other" },
};

/** What one in a printed unit is in the unit that it is written in. */
const partOf = (shown: Shown, unit: Written): number =>
  shown === "bps" || (shown === "percent" && unit === "times") ? 0.01 : 1;
const sizeOf = ({ value, unit: shown }: Printed, { unit }: Figure): number =>
  Math.abs(value) * partOf(shown, unit);

/** Whether a figure can be of this fact at all, by its unit and sign. */
function isOfKind(
  { unit, ticker, sign }: Figure,
  { value, unit: shown, operation, first }: Printed,
): boolean {
  const isPart = unit === "times" && shown === "percent" && operation === null;
  const isUnit =
    isPart || unit === WRITTEN[shown] || (unit === "none" && (operation === null || shown === "times"));
  const isCoin = ticker === null || shown === "ratio" || first.about?.subject === ticker;
  // Of a difference only how large it is, is said.
  const isSigned = sign === 0 || operation === "-" || operation === "gap" || Math.sign(value) === sign;
  return isUnit && isCoin && isSigned;
}

/** A figure may be this far from the fact, if its last place is coarser still; a level behind a word for bounds only this. */
const MOST_OFF = 0.05;
const LEVEL_OFF = 0.001;

/** Whether a figure is what would be printed, rounded. A bound that is false of a fact is no rounding of it. */
function isValue(figure: Figure, made: Printed): boolean {
  const size = sizeOf(made, figure);
  const isWhole = made.unit === "count" || made.unit === "place";
  return figure.readings.some(({ value, place }) => {
    const off = Math.abs(value - size);
    if (isWhole || size === 0 || value === 0) return off === 0;
    if (figure.bound !== null && off > size * LEVEL_OFF) return false;
    return off <= (place / 2) * (1 + Number.EPSILON) || (off < place && off <= size * MOST_OFF);
  });
}

const MOST_DIGITS = 3;
/** How many times a bound what is so may be. */
const FAR_BOUND = 1.2;

/** How a bound stands to a fact: on its side, on the other, or too far from it to be of it. */
function standing({ bound }: Figure, value: number, size: number): "true" | "false" | "far" {
  if (Math.max(size / value, value / size) > FAR_BOUND) return "far";
  return (bound === "over" ? size > value : size < value) ? "true" : "false";
}

/** What a bound says of a fact, where that is true and says something: of "over $97k" 97,000. */
function boundOf(figure: Figure, made: Printed): Adopted | null {
  const said = figure.readings.find(
    ({ value }) =>
      Number(value.toPrecision(MOST_DIGITS)) === value &&
      standing(figure, value, sizeOf(made, figure)) === "true",
  );
  return said === undefined ? null : { ...made, said: said.value / partOf(made.unit, figure.unit) };
}

/** Where nothing says which fact is meant: a bound holds for all that are near, or for none; "12" may be of anything. */
const isDoubtful = (figure: Figure, all: readonly Printed[]): boolean =>
  (figure.unit === "none" && figure.text.replace(/\D/g, "").length < MOST_DIGITS) ||
  all.some(
    (made) =>
      figure.bound !== null &&
      isOfKind(figure, made) &&
      figure.readings.some(({ value }) => standing(figure, value, sizeOf(made, figure)) === "false"),
  );

/** Some two facts add up to most figures: a plain one is a sum only where a word says so. */
export const SUMMED =
  /(?<!\p{L})(?:together|combined|in total|totals?|add(?:s|ed)? up|both|zusammen|insgesamt|juntos|en conjunto|ensemble|au total|no total|合计|共|合計)/iu;

/** What stands before, or behind, a number that what a fact is called has. */
const BESIDE = {
  none: [
    new RegExp(`(?:${OF})\\s?(?:the |los |las |der |den |les |as |os |top |largest |最大的?)*$`, "iu"),
    /^\s?个?(?:最大|主要)?(?:的)?(?:币种|代币|币)(?:中|里)/u,
  ],
  percent: [
    new RegExp(`(?:${WITHIN})\\s?(?:about |einem |1 )?$`, "iu"),
    /^\s?(?:of|from|around|either side|vom|um|del?|do|du|以内|范围)(?!\p{L})/iu,
  ],
} as const;
const AHEAD_BEFORE = new RegExp(
  `(?<!\\p{L})(?:${AHEAD})(?: few)?\\s?(?:\\d+\\s?(?:to|-|–|bis|a|à)\\s?)?$`,
  "iu",
);

/** Whether a figure is also in the words of a fact that its sentence cites, which the bracket shows. */
export function isRepeated({ text }: Figure, told: readonly Source[]): boolean {
  return told.some(({ words }) => words !== null && figuresIn(words, ".").some((one) => one.text === text));
}

/**
 * Whether a figure only repeats a number in what facts are called: "of the 50 largest" of its sentence's, and a time over
 * which anything is measured, for each bracket says its own; or a place, or all of the majors, as a fact has it.
 * @param named What is known of who is named before it.
 * @param shown The facts whose figures stand before it: of fifty coins as many did not rise as are left.
 */
export function isAside(
  { unit, text: written, readings: [said], start, end }: Figure,
  text: string,
  { told, named, shown, known }: Record<"told" | "named" | "shown" | "known", readonly Source[]>,
): boolean {
  const { value = Number.NaN } = said ?? {};
  const [before, after] = [text.slice(Math.max(0, start - 30), start), text.slice(end)];
  if (unit === "order" && /majors?/i.test(written))
    return told.every((one) => one.about?.kind !== "majorsRising" || one.value === value);
  if (unit === "order") return [...told, ...named].some((one) => one.value === value && isPlace(one));
  if (unit === "hours")
    return AHEAD_BEFORE.test(before) || wordingsOf(known).some(({ hours }) => hours === value);
  if (unit !== "none" && unit !== "percent") return false;
  const [front, back] = BESIDE[unit];
  // A table's head is of any of the facts.
  const all = wordingsOf(told.length === 0 && text.startsWith("|") ? known : told);
  const isCalled = all.some(({ aside }) => aside?.value === value && aside.unit === unit);
  if (isCalled && (front.test(before) || back.test(after))) return true;
  return unit === "none" && value !== 0 && shown.some((one) => restOf(one) === value);
}

const wordingsOf = (sources: readonly Source[]): Wording[] =>
  sources.flatMap(({ about }) => (about === null ? [] : wordingOf(about.kind)));

function restOf(source: Source): number {
  return (wordingsOf([source])[0]?.aside?.value ?? Number.NaN) - (source.value ?? 0);
}
