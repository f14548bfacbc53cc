import type { DisplayUnit } from "../../lib/text/locales";
import type { Source } from "./sources";
import { figuresIn, type Figure } from "../../lib/text/figures";
import { AHEAD, OF, WITHIN, type Written } from "../../lib/text/languages";
import { isPlace, ofFact, operated, sums, type Operation, type Printed } from "./slots";
import { wordingOf, type Wording } from "../../lib/facts";

/**
 * Matches a writer's own figure with the facts that it may come from: one fact's figure, or the result of one operation
 * on two. The figure is then printed from the facts, so that it cannot differ from them. Pure.
 */

/** `bound`: one that stays because it is true; the bracket shows the exact figure. */
export type Adopted = Printed & { bound?: number };

/** The facts that a figure may come from: its sentence's, nearest first, and others for comparison. */
export type Choice = Record<"facts" | "others", readonly Source[]> &
  Record<"isSummed" | "isUncited", boolean>;

export function adopted(figure: Figure, choice: Choice): Adopted | null {
  const facts = choice.facts.filter(({ value }) => value !== null).map(ofFact);
  if (choice.isUncited && isDoubtful(figure, facts)) return null;
  return adoptedFrom(facts, figure) ?? adoptedFrom(comparisons(figure, choice), figure);
}

/** The printed figure that matches a writer's: by value, otherwise as a bound of it; the first match counts. */
function adoptedFrom(all: readonly Printed[], figure: Figure): Adopted | null {
  const alike = all.filter((made) => isOfKind(figure, made));
  const own = alike.find((made) => isValue(figure, made));
  if (own !== undefined || figure.bound === null) return own ?? null;
  return alike.flatMap((made) => boundOf(figure, made) ?? [])[0] ?? null;
}

/** With more facts than this, some two of them add up to anything. */
const MOST_COMPARED = 24;

const COMPARED: Partial<Record<Written, readonly Operation[]>> = {
  ...{ times: ["/"], none: ["/"], percent: ["-", "%", "gap"], money: ["-"], gwei: ["-"], coins: ["-"] },
};

/** The comparisons of facts that have the unit of a figure. */
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

/** The ways to write a printed unit. */
const WRITTEN: Readonly<Record<DisplayUnit, Written>> = {
  ...{ USD: "money", percent: "percent", points: "percent", bps: "percent", times: "times", gwei: "gwei" },
  ...{ coins: "coins", ratio: "coins", place: "place", count: "none", text: "other" },
};

/** What one in a printed unit is in the unit that it is written in. */
const partOf = (shown: DisplayUnit, unit: Written): number =>
  shown === "bps" || (shown === "percent" && unit === "times") ? 0.01 : 1;
const sizeOf = ({ value, unit: shown }: Printed, { unit }: Figure): number =>
  Math.abs(value) * partOf(shown, unit);

/** Whether a figure can come from this fact at all, by its unit and sign. */
function isOfKind(
  { unit, ticker, sign }: Figure,
  { value, unit: shown, operation, first }: Printed,
): boolean {
  const isPart = unit === "times" && shown === "percent" && operation === null;
  const isUnit =
    isPart || unit === WRITTEN[shown] || (unit === "none" && (operation === null || shown === "times"));
  const isCoin = ticker === null || shown === "ratio" || first.about?.subject === ticker;
  // Only the size of a difference is stated.
  const isSigned = sign === 0 || operation === "-" || operation === "gap" || Math.sign(value) === sign;
  return isUnit && isCoin && isSigned;
}

/** How far a figure may be from the fact even if its last place is coarser; a level after a word for bounds may only be this far. */
const MOST_OFF = 0.05;
const LEVEL_OFF = 0.001;

/** Whether a figure equals the printed value, rounded. A bound that is false for a fact is not a rounding of it. */
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
/** A value may be at most this many times a bound. */
const FAR_BOUND = 1.2;

/** How a bound relates to a fact: true, false, or too far away to be about it. */
function standing({ bound }: Figure, value: number, size: number): "true" | "false" | "far" {
  if (Math.max(size / value, value / size) > FAR_BOUND) return "far";
  return (bound === "over" ? size > value : size < value) ? "true" : "false";
}

/** The bound that a figure states about a fact, if it is true and meaningful: of "over $97k" 97,000. */
function boundOf(figure: Figure, made: Printed): Adopted | null {
  const reading = figure.readings.find(
    ({ value }) =>
      Number(value.toPrecision(MOST_DIGITS)) === value &&
      standing(figure, value, sizeOf(made, figure)) === "true",
  );
  return reading === undefined ? null : { ...made, bound: reading.value / partOf(made.unit, figure.unit) };
}

/** If nothing says which fact is meant, a bound has to hold for all near ones; "12" may come from anything. */
const isDoubtful = (figure: Figure, all: readonly Printed[]): boolean =>
  (figure.unit === "none" && figure.text.replace(/\D/g, "").length < MOST_DIGITS) ||
  all.some(
    (made) =>
      figure.bound !== null &&
      isOfKind(figure, made) &&
      figure.readings.some(({ value }) => standing(figure, value, sizeOf(made, figure)) === "false"),
  );

/** Some two facts add up to most figures: a plain figure is a sum only if a word says so. */
export const SUMMED =
  /(?<!\p{L})(?:together|combined|in total|totals?|add(?:s|ed)? up|both|zusammen|insgesamt|juntos|en conjunto|ensemble|au total|no total|合计|共|合計)/iu;

/** What stands before or after a number in a fact's own name. */
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

/** Whether a figure is also in the words of a cited fact, which the bracket shows. */
export function isRepeated({ text }: Figure, sources: readonly Source[]): boolean {
  return sources.some(
    ({ words }) => words !== null && figuresIn(words, ".").some((one) => one.text === text),
  );
}

/**
 * Whether a figure only repeats a number from the names of facts: "of the 50 largest" of its sentence's, a time over
 * which anything is measured (each bracket has its own), a rank, or all of the majors, as a fact has it.
 * @param named What is known of the subject before it.
 * @param shown The facts whose figures are before it: of fifty coins, those that did not rise are the rest.
 */
export function isAside(
  { unit, text: written, readings: [reading], start, end }: Figure,
  text: string,
  { cited, named, shown, known }: Record<"cited" | "named" | "shown" | "known", readonly Source[]>,
): boolean {
  const { value = Number.NaN } = reading ?? {};
  const [before, after] = [text.slice(Math.max(0, start - 30), start), text.slice(end)];
  if (unit === "order" && /majors?/i.test(written))
    return cited.every((one) => one.about?.kind !== "majorsRising" || one.value === value);
  if (unit === "order") return [...cited, ...named].some((one) => one.value === value && isPlace(one));
  if (unit === "hours")
    return AHEAD_BEFORE.test(before) || wordingsOf(known).some(({ hours }) => hours === value);
  if (unit !== "none" && unit !== "percent") return false;
  const [front, back] = BESIDE[unit];
  // A table's head may be about any of the facts.
  const all = wordingsOf(cited.length === 0 && text.startsWith("|") ? known : cited);
  const isCalled = all.some(({ aside }) => aside?.value === value && aside.unit === unit);
  if (isCalled && (front.test(before) || back.test(after))) return true;
  return unit === "none" && value !== 0 && shown.some((one) => restOf(one) === value);
}

const wordingsOf = (sources: readonly Source[]): Wording[] =>
  sources.flatMap(({ about }) => (about === null ? [] : wordingOf(about.kind)));

function restOf(source: Source): number {
  return (wordingsOf([source])[0]?.aside?.value ?? Number.NaN) - (source.value ?? 0);
}
