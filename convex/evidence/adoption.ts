import { withoutTrailing } from "../lib/text";
import type { Source } from "./facts";
import type { Figure, Reading } from "./figures";
import { MULTIPLES, OF, WITHIN, UNIT_WORDS } from "./languages";
import { wordingOf } from "./kinds";
import { figuresIn } from "./figures";
import { ofFact, operated, type Operation, type Printed } from "./slots";

/**
 * What a plain figure of a writer's is, by the facts that its sentence cites: the figure of one of them, or what one
 * operation makes of two. It is printed from the facts, so that it cannot be another than theirs. Pure.
 */

/** A figure may be this far from the fact, if its last place is coarser still. */
const MOST_OFF = 0.05;
/** A bound in digits is worth saying this near to what is so. */
const NEAR_BOUND = 0.2;
/** How far a multiple in a word may be from what is so, and how many times it a bound in a word. */
const NEAR_WORD = 0.1;
const FAR_WORD = 1.6;
const MOST_DIGITS = 3;

/** The fact, or the operation, that a figure is; `null` where none of these is. @param cited The nearest first. */
export function adopted(figure: Figure, cited: readonly Source[], text = ""): Printed | null {
  const own = cited.filter((source) => isFigureOf(figure, ofFact(source)));
  const [found] = own.toSorted((a, b) => cited.indexOf(a) - cited.indexOf(b));
  return found === undefined ? derived(figure, cited, SUMMED.test(text)) : ofFact(found);
}

const OPERATIONS: readonly Operation[] = ["-", "/", "%"];
/** Some two facts add up to most figures: a plain one is a sum only where a word says so. */
const SUMMED =
  /(?<!\p{L})(?:together|combined|in total|both|zusammen|insgesamt|juntos|en conjunto|ensemble|au total|no total|合计|共|合計)/iu;

function derived(figure: Figure, cited: readonly Source[], isSummed: boolean): Printed | null {
  if (cited.length > 24) return null;
  for (const operation of isSummed ? [...OPERATIONS, "+" as const] : OPERATIONS) {
    for (const a of cited) {
      for (const b of cited) {
        if (a.id === b.id) continue;
        const made = operated([a], operation, [b]);
        if (made !== null && isFigureOf(figure, made)) return made;
      }
    }
  }
  return null;
}

/** Whether a figure says what would be printed in its place, as exactly as it is written. */
function isFigureOf(figure: Figure, { value, unit, operation, sources }: Printed): boolean {
  const [first] = sources;
  if (first === undefined || first.value === null) return false;
  // Of a difference only how large it is, is said.
  const is = operation === "-" ? Math.abs(value) : value;
  if (figure.sign !== 0 && operation !== "-" && Math.sign(is) !== figure.sign) return false;
  const size = Math.abs(is);
  const fits = (readings: readonly Reading[]) => readings.some((one) => isNear(one, size));
  const exactly = (of: number) => figure.readings.some((one) => one.value === of);
  switch (figure.unit) {
    case "usd":
    case "cents":
      return unit === "USD" && fits(figure.readings);
    case "percent":
      return (unit === "percent" || (unit === "points" && operation === "-")) && fits(figure.readings);
    case "points":
      return unit === "points" && fits(figure.readings);
    case "bps":
      if (unit === "bps") return fits(figure.readings);
      return (unit === "percent" || unit === "points") && exactly(Math.round(size * 100));
    case "times":
      return unit === "times" && fits(figure.readings);
    case "gwei":
      return unit === "gwei" && fits(figure.readings);
    case "coins":
      return unit === "coins"
        ? first.about?.subject === figure.ticker && fits(figure.readings)
        : unit === "ratio" && fits(figure.readings);
    case "place":
      return unit === "place" && exactly(size);
    case "none":
      if (operation !== null) return operation === "/" && unit === "times" && fits(figure.readings);
      return unit === "count" || unit === "place" ? exactly(size) : unit !== "text" && fits(figure.readings);
    case "hours":
    case "date":
    case "other":
      return false;
  }
}

function isNear({ value, place }: Reading, size: number): boolean {
  const off = Math.abs(value - size);
  return off <= place / 2 || (off < place && off <= size * MOST_OFF);
}

/** The fact (or operation) by which a bound stays true and says something: "over $97,000" of 97,250. */
export function bounded(figure: Figure, cited: readonly Source[]): Printed | null {
  const { bound, readings, text } = figure;
  const digits = withoutTrailing(text.replace(/\D/g, "").replace(/^0+/, ""), "0");
  if (bound === null || digits.length > MOST_DIGITS) return null;
  const holds = (made: Printed) => {
    const size = Math.abs(made.value);
    return readings.some(({ value }) => {
      const isTrue = bound === "over" ? size > value : size < value;
      return (
        isTrue && Math.abs(size - value) <= NEAR_BOUND * size && isFigureOf(unsigned(figure, size), made)
      );
    });
  };
  return cited.map(ofFact).find((one) => one.sources[0]?.value !== null && holds(one)) ?? null;
}

/** The figure as if it said this much, to see whether its unit and sign are right. */
function unsigned(figure: Figure, value: number): Figure {
  const readings = [
    { value, place: value },
    { value: Math.round(value * 100), place: 1 },
  ];
  return { ...figure, readings };
}

/** A multiple or share in a word: "twice", "half of". */
export type Multiple = { start: number; end: number; text: string; value: number };

export function multiplesIn(text: string): Multiple[] {
  return MULTIPLES.flatMap(({ words, value }) =>
    Array.from(text.matchAll(words), ({ 0: told, index: start }) => ({
      start,
      end: start + told.length,
      text: told,
      value,
    })),
  ).sort((a, b) => a.start - b.start);
}

/** The operation or fact that makes a multiple in words true; `null` where none does. */
export function multipleOf(value: number, bound: Figure["bound"], cited: readonly Source[]): Printed | null {
  const holds = (is: number) =>
    bound === null
      ? Math.abs(is - value) <= NEAR_WORD * value
      : (bound === "over" ? is > value : is < value) && Math.max(is / value, value / is) <= FAR_WORD;
  for (const source of cited) {
    const { about, value: of } = source;
    if (about === null || of === null) continue;
    const { unit, family, aside, isSigned } = wordingOf(about.kind);
    if (unit === "percent" && family === "share" && holds(of / 100)) return ofFact(source);
    if (unit === "percent" && isSigned && holds(1 + of / 100) && (value >= 2 || value === 1 / 2))
      return ofFact(source);
    if (unit === "count" && aside !== null && holds(of / aside.value)) return ofFact(source);
  }
  for (const a of cited) {
    for (const b of cited) {
      const made = a.id === b.id ? null : operated([a], "/", [b]);
      if (made !== null && holds(made.value)) return made;
    }
  }
  return null;
}

/** Whether a figure only repeats the number in what its sentence's facts are called: "of the 50 largest", "within 1 %". */
export function isAside(figure: Figure, text: string, told: readonly Source[]): boolean {
  const [before, after] = [text.slice(Math.max(0, figure.start - 30), figure.start), text.slice(figure.end)];
  return told.some(({ about }) => {
    const aside = about === null ? null : wordingOf(about.kind).aside;
    if (aside === null || !figure.readings.some(({ value }) => value === aside.value)) return false;
    if (aside.unit !== figure.unit) return false;
    return aside.unit === "none"
      ? OF_BEFORE.test(before) || OF_BEHIND.test(after)
      : WITHIN_BEFORE.test(before) || WITHIN_BEHIND.test(after);
  });
}

const OF_BEFORE = new RegExp(
  `(?:${OF})\\s?(?:the |los |las |der |den |les |as |os |top |largest |最大的?)*$`,
  "iu",
);
const OF_BEHIND = /^\s?个?(?:最大|主要)?(?:的)?(?:币种|代币|币)(?:中|里)/u;
const WITHIN_BEFORE = new RegExp(`(?:${WITHIN})\\s?(?:about |einem |1 )?$`, "iu");
const WITHIN_BEHIND = /^\s?(?:of|from|around|either side|vom|um|del?|do|du|以内|范围)(?!\p{L})/iu;

/**
 * Whether a span of time is that of one of the sentence's facts, still to come, or a heading's; that of any fact where the
 * sentence has none, and of one that says the same of the same ("the day's low is that of 48 hours, too").
 */
export function isOwnSpan(
  { unit, readings, isAhead }: Figure,
  text: string,
  told: readonly Source[],
  known: Iterable<Source>,
): boolean {
  if (unit !== "hours") return false;
  if (isAhead || (told.length === 0 && text.startsWith("|"))) return true;
  const isOf = ({ about }: Source) => {
    const hours = about === null ? null : wordingOf(about.kind).hours;
    return hours !== null && readings.some(({ value }) => value === hours);
  };
  const isSame = (one: Source, other: Source) =>
    one.value === other.value && one.about !== null && one.about.subject === other.about?.subject;
  return (
    told.some(isOf) ||
    [...known].some((one) => isOf(one) && (told.length === 0 || told.some((other) => isSame(one, other))))
  );
}

/** The fact of words that has this very figure: "$420 million" of a headline. */
export function quoted(figure: Figure, cited: readonly Source[]): Source | null {
  return (
    cited.find(
      ({ words }) =>
        words !== null &&
        figuresIn(words).some(
          (one) =>
            one.unit === figure.unit &&
            one.ticker === figure.ticker &&
            one.sign === figure.sign &&
            one.bound === figure.bound &&
            one.readings.some(({ value }) => figure.readings.some((own) => own.value === value)),
        ),
    ) ?? null
  );
}

/** What is written behind or before a slot though the slot prints it: `{f2}%`, `${f1}`, `{f4} billion`. */
export const MARKS_BEFORE = /(?:US)?[+±~≈#$€£-]{1,3}$/u;
export const MARKS_BEHIND = new RegExp(
  `^(?:\\s?(?:${Object.values(UNIT_WORDS).join("|")}|hundred|thousand|millions?|billions?|trillions?|Mio\\.?|Mrd\\.?|Millionen|Milliarden|millones|milliards?|bn)(?!\\p{Script=Latin})|[kKMBTmb](?![\\p{L}\\d]))+`,
  "u",
);
