import { type Shown } from "./amounts";
import type { Source } from "./facts";
import { wordingOf } from "./kinds";

/** Slots and citations in a sentence, and what one typed operation makes of facts. Pure. */

/** `{f12}`, `{f2-f19}`, `{f27/f10}`, `{f10%f11+f12}`. */
const SLOT = /\{([^{}\n]{1,80})\}/g;
/** `[f12]`, `[f1, f2]`; several in a row are one. */
const CITATION = /\[\s*f?\d+(?:\s*[,;+]\s*f?\d+)*\s*\](?:[\s,;]{0,3}\[\s*f\d+(?:\s*[,;+]\s*f?\d+)*\s*\])*/gi;
const REF = "[fF]?(\\d{1,4})";
const EXPRESSION = new RegExp(`^\\s*(${sum()})\\s*(?:([-−–/÷%])\\s*(${sum()}))?\\s*$`);

function sum(): string {
  return `${REF.replace("(", "(?:")}(?:\\s*\\+\\s*${REF.replace("(", "(?:")})*`;
}

export type Operation = "-" | "/" | "%" | "+";

/** What a slot asks for: one fact, or two sides and what is done with them. */
export type Asked = { left: number[]; operation: Operation | null; right: number[] };

/** A slot or citation in its place. */
export type Piece =
  | { kind: "slot"; start: number; end: number; text: string; asked: Asked | null }
  | { kind: "citation"; start: number; end: number; text: string; ids: number[] };

export function piecesIn(text: string): Piece[] {
  const slots = [...text.matchAll(SLOT)].map(({ 0: told, 1: inner = "", index: start }): Piece => ({
    ...{ kind: "slot", start, end: start + told.length, text: told, asked: askedIn(inner) },
  }));
  const citations = [...text.matchAll(CITATION)].flatMap(({ 0: told, index: start }): Piece[] =>
    /f/i.test(told)
      ? [{ kind: "citation", start, end: start + told.length, text: told, ids: idsIn(told) }]
      : [],
  );
  return [...slots, ...citations].sort((a, b) => a.start - b.start);
}

function idsIn(text: string): number[] {
  return Array.from(text.matchAll(/\d+/g), ([id]) => Number(id));
}

function askedIn(inner: string): Asked | null {
  const [, left, sign, right] = EXPRESSION.exec(inner) ?? [];
  if (left === undefined) return null;
  const sides = { left: idsIn(left), right: right === undefined ? [] : idsIn(right) };
  if (sign === undefined) return { ...sides, operation: sides.left.length > 1 ? "+" : null };
  return { ...sides, operation: /[-−–]/.test(sign) ? "-" : sign === "%" ? "%" : "/" };
}

/** A figure that code may print: a fact's own, or what an operation makes of several. */
export type Printed = {
  sources: Source[];
  operation: Operation | null;
  /** How many of the facts stand before the operation's sign. */
  left: number;
  value: number;
  unit: Shown;
};

/** @returns Why there is no such figure, where there is none. */
export function printed(
  { left, operation, right }: Asked,
  facts: ReadonlyMap<number, Source>,
): Printed | string {
  const ids = [...left, ...right];
  const missing = ids.find((id) => !facts.has(id));
  if (missing !== undefined) return `f${missing} is no fact`;
  const all = ids.flatMap((id) => facts.get(id) ?? []);
  const [first] = all;
  if (first === undefined) return "it names no fact";
  if (operation === null) return ofFact(first);
  return (
    operated(all.slice(0, left.length), operation, all.slice(left.length)) ??
    "these facts cannot be compared so"
  );
}

export function ofFact(source: Source): Printed {
  const isPlace = source.about !== null && /rank|Place/.test(source.about.kind);
  return {
    ...{ sources: [source], operation: null, left: 1, value: source.value ?? 0 },
    unit: isPlace ? "place" : source.unit,
  };
}

/** What one operation makes of facts; `null` where they are of kinds or units that it does not fit. */
export function operated(
  left: readonly Source[],
  operation: Operation,
  right: readonly Source[],
): Printed | null {
  const all = [...left, ...right];
  const values = all.map(({ value }) => value ?? Number.NaN);
  const [first] = all;
  if (first === undefined || all.length < 2 || values.some(Number.isNaN)) return null;
  if (left.length > 1 && !isSum(left)) return null;
  if (right.length > 1 && !isSum(right)) return null;
  const total = (of: readonly number[]) => of.reduce((a, b) => a + b, 0);
  const [a, b] = [total(values.slice(0, left.length)), total(values.slice(left.length))];
  const made = (value: number, unit: Shown): Printed | null =>
    Number.isFinite(value) ? { sources: all, operation, left: left.length, value, unit } : null;
  const isOne = new Set(all.map(familyOf)).size === 1;
  switch (operation) {
    case "+":
      return made(total(values), first.unit);
    case "-":
      return isOne ? made(a - b, first.unit === "percent" ? "points" : first.unit) : null;
    case "/":
    case "%": {
      // Amounts of one unit have ratios, of one sign; prices only with prices.
      const isAmounts =
        all.every(({ unit }) => unit === "USD") && !all.some((one) => /price/.test(familyOf(one)));
      if (b === 0 || a / b <= 0 || !(isOne || isAmounts)) return null;
      return operation === "/"
        ? made(a / b, "times")
        : first.unit === "percent"
          ? null
          : made((100 * a) / b, "percent");
    }
  }
}

/** What can be added up: amounts at one moment or over one time; prices, changes and rates cannot. */
function isSum(sources: readonly Source[]): boolean {
  const [first] = sources;
  if (
    first?.about === undefined ||
    !/^(?:cap|volume|book|interest|supply|coins)$/.test(familyOf(first).split(":")[0] ?? "")
  )
    return false;
  return new Set(sources.map(familyOf)).size === 1 && new Set(sources.map(keyOf)).size === sources.length;
}

const keyOf = ({ about, id }: Source): string =>
  about === null ? `${id}` : `${about.subject} ${about.kind}`;

/** What of one family is measured alike: over one time, in one unit; coins only with the same coin's. */
function familyOf({ about, unit, id }: Source): string {
  if (about === null) return `words ${id}`;
  const { family } = wordingOf(about.kind);
  const since = unit === "percent" ? (about.since ?? "") : "";
  return `${family}:${unit}:${since}:${unit === "coins" ? about.subject : ""}`;
}
