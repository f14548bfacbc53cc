import type { Shown } from "../../lib/text/locales";
import type { Source } from "./sources";
import type { Place } from "./figures";
import { wordingOf } from "../wordings";
import { SCALES, UNITS } from "./languages";

/** Slots and citations in a sentence, and what one typed operation makes of facts. Pure. */

/** What is written beside a slot though the slot prints it: `{f2}%`, `${f1}`, `{f4} billion`. A hyphen may be a range's. */
const BEFORE = "(?:(?<![\\p{L}\\d}\\]])(?:US)?[+±~≈#$€£-]{1,3})?";
const MARKS = [...SCALES, ...UNITS.filter(({ unit }) => unit !== "hours")].map(({ list }) => list).join("|");
const BEHIND = `(?:\\s?(?:${MARKS})(?!\\p{Script=Latin}))*`;
/** `{f12}`, `{f2-f19}`, `{f27/f10}`, `{f10%f11+f12}`. */
const SLOT = new RegExp(`${BEFORE}\\{([^{}\\n]{1,80})\\}${BEHIND}`, "gu");
/** `[f12]`, `[f1, f2]`; several in a row are one. */
const CITATION = /\[\s*f?\d+(?:\s*[,;+]\s*f?\d+)*\s*\](?:[\s,;]{0,3}\[\s*f\d+(?:\s*[,;+]\s*f?\d+)*\s*\])*/gi;
const SUM = "[fF]?\\d{1,4}(?:\\+[fF]?\\d{1,4})*";
const EXPRESSION = new RegExp(`^(${SUM})(?:([-−–/÷%])(${SUM}))?$`);

/** `gap`: how far the first is from the second, in percent of that; no slot asks for it. */
export type Operation = "-" | "/" | "%" | "+" | "gap";

/** A slot or a citation, and what it asks for: its facts, the first `left` of them before the operation's sign. */
export type Piece = Place & { isSlot: boolean; ids: number[]; operation: Operation | null; left: number };

export function piecesIn(text: string): Piece[] {
  const slots = Array.from(text.matchAll(SLOT), ({ 0: told, 1: inner = "", index: start }): Piece => ({
    ...{ start, end: start + told.length, isSlot: true },
    ...askedIn(inner),
  }));
  const citations = [...text.matchAll(CITATION)].flatMap(({ 0: told, index: start }): Piece[] => {
    const ids = idsIn(told);
    const place = { start, end: start + told.length };
    return /f/i.test(told) ? [{ ...place, isSlot: false, ids, operation: null, left: ids.length }] : [];
  });
  return [...slots, ...citations].sort((a, b) => a.start - b.start);
}

const idsIn = (text: string): number[] => Array.from(text.matchAll(/\d+/g), ([id]) => Number(id));

function askedIn(inner: string): Pick<Piece, "ids" | "operation" | "left"> {
  const [, first = "", sign, second = ""] = EXPRESSION.exec(inner.replace(/\s/g, "")) ?? [];
  const [left, right] = [idsIn(first), idsIn(second)];
  const operation =
    sign === undefined ? (left.length > 1 ? "+" : null) : /[/÷]/.test(sign) ? "/" : sign === "%" ? "%" : "-";
  return { ids: [...left, ...right], operation, left: left.length };
}

/** A figure that code may print: a fact's own, or what an operation makes of several. */
export type Printed = {
  sources: Source[];
  first: Source;
  operation: Operation | null;
  /** How many of the facts stand before the operation's sign. */
  left: number;
  value: number;
  unit: Shown;
};

/** @returns Why there is no such figure, where there is none. */
export function printed(
  { ids, operation, left }: Piece,
  facts: ReadonlyMap<number, Source>,
): Printed | string {
  const missing = ids.find((id) => !facts.has(id));
  if (missing !== undefined) return `f${missing} is no fact`;
  const sources = ids.flatMap((id) => facts.get(id) ?? []);
  const [first] = sources;
  if (first === undefined) return "that is no slot";
  return operation === null
    ? ofFact(first)
    : (operated(sources, operation, left) ?? "these facts cannot be compared so");
}

export function ofFact(source: Source): Printed {
  const isPlace = source.about !== null && /rank|Place/.test(source.about.kind);
  const unit = isPlace ? "place" : source.unit;
  return { sources: [source], first: source, operation: null, left: 1, value: source.value ?? 0, unit };
}

/** What one operation makes of facts; `null` where they are of kinds or units that it does not fit. */
export function operated(sources: Source[], operation: Operation, left = 1): Printed | null {
  const values = sources.flatMap(({ value }) => value ?? []);
  const [first] = sources;
  if (first === undefined || values.length < Math.max(2, sources.length)) return null;
  const sides = operation === "+" ? [sources] : [sources.slice(0, left), sources.slice(left)];
  if (sides.some((side) => side.length > 1 && !isSum(side))) return null;
  const [a = 0, b = 0] = sides.map((side) => side.reduce((sum, { value }) => sum + (value ?? 0), 0));
  const isOne = new Set(sources.map(familyOf)).size === 1;
  const made = (value: number, unit: Shown): Printed => ({ sources, first, operation, left, value, unit });
  if (operation === "+") return made(a, first.unit);
  if (operation === "-") return isOne ? made(a - b, first.unit === "percent" ? "points" : first.unit) : null;
  if (operation === "gap") {
    const isLevels = isOne && familyOf(first).startsWith("price") && b > 0;
    return isLevels ? made((100 * (a - b)) / b, "percent") : null;
  }
  // Amounts of one unit have ratios, of one sign; prices only with prices.
  const isAmounts = sources.every((one) => one.unit === "USD" && !familyOf(one).startsWith("price"));
  if (b === 0 || a / b <= 0 || !(isOne || isAmounts)) return null;
  if (operation === "/") return made(a / b, "times");
  return first.unit === "percent" ? null : made((100 * a) / b, "percent");
}

/** What adds up to an amount in words such as "together": some two facts, or all of one kind. */
export function sums(facts: readonly Source[], pairs: readonly Source[][]): Printed[] {
  const families = [...new Set(facts.map(familyOf))];
  const alike = families.map((family) => facts.filter((one) => familyOf(one) === family));
  return [...alike, ...pairs].flatMap((some) => operated(some, "+") ?? []);
}

/** What can be added up: amounts at one moment or over one time; prices, changes and rates cannot. */
function isSum(sources: readonly Source[]): boolean {
  const isOne = new Set(sources.map(familyOf)).size === 1;
  const isEach = new Set(sources.map(({ says }) => says.split(": ")[0])).size === sources.length;
  return (
    isOne &&
    isEach &&
    sources.every((one) => /^(?:cap|volume|book|interest|supply|coins):/.test(familyOf(one)))
  );
}

/** What of one family is measured alike: over one time, in one unit; coins only with the same coin's. */
function familyOf({ about, unit, id }: Source): string {
  if (about === null) return `words ${id}`;
  const since = unit === "percent" ? (about.since ?? "") : "";
  return `${wordingOf(about.kind).family}:${unit}:${since}:${unit === "coins" ? about.subject : ""}`;
}
