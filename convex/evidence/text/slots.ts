import type { DisplayUnit } from "../../lib/text/locales";
import type { Source } from "./sources";
import { foundIn, type Place } from "../../lib/text/figures";
import { wordingOf } from "../../lib/facts";
import { SCALES, UNITS } from "../../lib/text/languages";

/** Slots and citations in a sentence, and the results of typed operations on facts. Pure. */

/** What writers add to a slot although the slot prints it: `{f2}%`, `${f1}`, `{f4} billion`. A hyphen may be a range's. */
const BEFORE = "(?:(?<![\\p{L}\\d}\\]])(?:US)?[+±~≈#$€£-]{1,3})?";
const MARKS = [...SCALES, ...UNITS.filter(({ unit }) => unit !== "hours")].map(({ list }) => list).join("|");
const BEHIND = `(?:\\s?(?:${MARKS})(?!\\p{Script=Latin}))*`;
/** `{f12}`, `{f2-f19}`, `{f27/f10}`, `{f10%f11+f12}`. */
const SLOT = new RegExp(`${BEFORE}\\{(?<inner>[^{}\\n]{1,80})\\}${BEHIND}`, "gu");
/** `[f12]`, `[f1, f2]`; several in a row are one. */
const CITATION = /\[\s*f?\d+(?:\s*[,;+]\s*f?\d+)*\s*\](?:[\s,;]{0,3}\[\s*f\d+(?:\s*[,;+]\s*f?\d+)*\s*\])*/gi;
const SUM = "[fF]?\\d{1,4}(?:\\+[fF]?\\d{1,4})*";
const EXPRESSION = new RegExp(`^(${SUM})(?:([-−–/÷%])(${SUM}))?$`);

/** `gap`: the distance between the first and the second, in percent of the second; no slot asks for it. */
export type Operation = "-" | "/" | "%" | "+" | "gap";

/** The facts on either side of an operation's sign; without a sign all are on one side. */
type Sides<One> = readonly (readonly One[])[];

/** A slot, or a citation, by the numbers of its facts. */
export type Piece = Place & { isSlot: boolean; sides: Sides<number>; operation: Operation | null };

export function piecesIn(text: string): Piece[] {
  const slots = foundIn(text, SLOT).map(({ start, end, groups }): Piece => {
    return { start, end, isSlot: true, ...askedIn(groups["inner"] ?? "") };
  });
  const citations = foundIn(text, CITATION)
    .filter((one) => /f/i.test(one.text))
    .map(({ start, end, text: inside }): Piece => {
      return { start, end, isSlot: false, sides: [idsIn(inside)], operation: null };
    });
  return [...slots, ...citations].sort((a, b) => a.start - b.start);
}

const idsIn = (text: string): number[] => Array.from(text.matchAll(/\d+/g), ([id]) => Number(id));

const SIGNS: Readonly<Record<string, Operation>> = { "/": "/", "÷": "/", "%": "%" };

function askedIn(inner: string): Pick<Piece, "sides" | "operation"> {
  const [, first = "", sign, second = ""] = EXPRESSION.exec(inner.replace(/\s/g, "")) ?? [];
  const [left, right] = [idsIn(first), idsIn(second)];
  if (sign !== undefined) return { sides: [left, right], operation: SIGNS[sign] ?? "-" };
  return { sides: [left], operation: left.length > 1 ? "+" : null };
}

/** A figure that code may print: a fact's own, or the result of an operation. */
export type Printed = {
  sides: Sides<Source>;
  first: Source;
  operation: Operation | null;
  value: number;
  unit: DisplayUnit;
};

/** @returns The figure, or why there is none. */
export function printed({ sides, operation }: Piece, facts: ReadonlyMap<number, Source>): Printed | string {
  const missing = sides.flat().find((id) => !facts.has(id));
  if (missing !== undefined) return `there is no fact f${missing}`;
  const sources = sides.map((side) => side.flatMap((id) => facts.get(id) ?? []));
  const first = sources[0]?.[0];
  if (first === undefined) return "this is not a valid slot";
  if (operation === null) return ofFact(first);
  return operated(sources, operation) ?? "these facts cannot be compared in this way";
}

export const isPlace = ({ about }: Source): boolean => about !== null && /rank|Place/.test(about.kind);

export function ofFact(first: Source): Printed {
  const unit = isPlace(first) ? "place" : first.unit;
  return { sides: [[first]], first, operation: null, value: first.value ?? 0, unit };
}

/** The result of one operation on facts; `null` if their kinds or units do not fit it. */
export function operated(sides: Sides<Source>, operation: Operation): Printed | null {
  const sources = sides.flat();
  const [first] = sources;
  if (first === undefined || sources.length < 2 || sources.some(({ value }) => value === null)) return null;
  if (!sides.every((side) => side.length === 1 || isSum(side))) return null;
  const [a = 0, b = 0] = sides.map((side) => side.reduce((sum, { value }) => sum + (value ?? 0), 0));
  const made = (value: number, unit: DisplayUnit): Printed => ({ sides, first, operation, value, unit });
  if (operation === "+") return made(a, first.unit);
  const isOne = isAlike(sources);
  const isPrice = familyOf(first).startsWith("price");
  if (operation === "-") return isOne ? made(a - b, first.unit === "percent" ? "points" : first.unit) : null;
  if (operation === "gap") return isOne && isPrice && b > 0 ? made((100 * (a - b)) / b, "percent") : null;
  // Ratios need amounts of one unit and sign; prices only go with prices.
  const isAmounts = sources.every((one) => one.unit === "USD" && !familyOf(one).startsWith("price"));
  if (b === 0 || a / b <= 0 || !(isOne || isAmounts)) return null;
  if (operation === "/") return made(a / b, "times");
  return first.unit === "percent" ? null : made((100 * a) / b, "percent");
}

/** Sums for words such as "together": of some two facts, or of all of one kind. */
export function sums(facts: readonly Source[], pairs: readonly (readonly Source[])[]): Printed[] {
  const families = [...new Set(facts.map(familyOf))];
  const alike = families.map((family) => facts.filter((one) => familyOf(one) === family));
  return [...alike, ...pairs].flatMap((some) => operated([some], "+") ?? []);
}

/** Whether facts can be added: amounts at one moment or over one time; not prices, changes or rates. */
function isSum(sources: readonly Source[]): boolean {
  const isEach = new Set(sources.map(({ says }) => says.split(": ")[0])).size === sources.length;
  const isAmount = /^(?:cap|volume|book|interest|supply|coins):/;
  return isAlike(sources) && isEach && sources.every((one) => isAmount.test(familyOf(one)));
}

const isAlike = (sources: readonly Source[]): boolean => new Set(sources.map(familyOf)).size === 1;

/** Facts that are measured alike: of one family, over one time, in one unit; coins only with the same coin's. */
function familyOf({ about, unit, id }: Source): string {
  if (about === null) return `words ${id}`;
  const since = unit === "percent" ? (about.since ?? "") : "";
  return `${wordingOf(about.kind).family}:${unit}:${since}:${unit === "coins" ? about.subject : ""}`;
}
