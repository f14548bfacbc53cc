import { DOWN, ELSEWHEN, NOT, OPENINGS, UP, WINDOWS, words, type Locale } from "./languages";
import { isModels, type Ledger, type Source } from "./facts";
import { TOPIC_WORDS, wordingOf } from "./kinds";
import type { Mention } from "./names";
import type { Printed } from "./slots";

/**
 * What a citation's bracket says of a figure because the prose around it does not: whose it is, of what and over what
 * time. So a sentence that uses a figure wrongly shows its own contradiction. Pure.
 */

/** A sentence as labels read it: figures, slots and citations out of the way, at their length. */
export type Setting = {
  text: string;
  mentions: readonly Mention[];
  /** Whom the paragraph named last before this sentence. */
  carried: string | null;
  ledger: Ledger;
  locale: Locale;
};

type Place = { start: number; end: number };

const EDGE = /[;,()|–—、，；（）]|\s-\s|\.\s/g;

/** The words between two marks around a place. */
function clauseAt(text: string, { start, end }: Place): { text: string; from: number } {
  const before = [...text.slice(0, start).matchAll(EDGE)].at(-1);
  const from = before === undefined ? 0 : before.index + before[0].length;
  const after = text.slice(end).search(EDGE);
  return { text: text.slice(from, after === -1 ? undefined : end + after), from };
}

/**
 * Under which sign a change is said: with its own, or with none because a word before it says the direction.
 * @returns `contrary`: whether a word says the other direction, and whether it stands right before the figure.
 */
export function signAt(
  place: Place,
  value: number,
  { text }: Setting,
): { sign: "both" | "none"; contrary: "near" | "far" | null } {
  const clause = clauseAt(text, place);
  const [before, after] = [
    clause.text.slice(0, place.start - clause.from),
    clause.text.slice(place.end - clause.from),
  ];
  const said = finds(NOT, clause.text) ? null : directionOf(before, after);
  if (said !== null && Math.sign(value) === said.direction) return { sign: "none", contrary: null };
  return { sign: "both", contrary: said === null || value === 0 ? null : said.isNear ? "near" : "far" };
}

function directionOf(before: string, after: string): { direction: 1 | -1; isNear: boolean } | null {
  const last = (pattern: RegExp) => [...before.matchAll(pattern)].at(-1);
  const [up, down] = [last(UP), last(DOWN)];
  const nearest = (up?.index ?? -1) > (down?.index ?? -1) ? up : down;
  if (nearest !== undefined) {
    const between = before.slice(nearest.index + nearest[0].length);
    return {
      direction: nearest === up ? 1 : -1,
      isNear: /^\s?(?:by|of|um|von|de|en|了|約|约)?\s?$/iu.test(between),
    };
  }
  const next = /^\s?(\p{L}+)/u.exec(after)?.[1] ?? "";
  return finds(UP, next)
    ? { direction: 1, isNear: false }
    : finds(DOWN, next)
      ? { direction: -1, isNear: false }
      : null;
}

/** What the bracket behind a figure says beside its number; "" where the prose says it all. */
export function labelOf(printed: Printed, place: Place, setting: Setting): string {
  const { sources, operation } = printed;
  const [first] = sources;
  if (first === undefined) return "";
  if (operation !== null) return operationLabel(printed);
  const told = [
    isSubjectTold(first, place, setting) ? "" : subjectOf(first),
    isKindTold(first, place, setting) ? "" : tagOf(first),
    isModels(first) ? "model" : "",
  ];
  return told.filter((part) => part !== "").join(" ");
}

/** A fact in a bracket of its own: `BTC 24 h`. */
export function shortOf(source: Source): string {
  return [subjectOf(source), tagOf(source)].filter((part) => part !== "").join(" ");
}

/** Whose figure it is; "" for the whole market's. */
export function subjectOf({ about }: Source): string {
  return about === null || about.subject === "market" ? "" : about.subject;
}

const SINCE = { start: "the shift’s start", report: "the last report" } as const;

function tagOf({ about, unit }: Source): string {
  if (about === null) return "";
  const { tag } = wordingOf(about.kind);
  if (about.since === null) return tag;
  const what = about.kind === "price" ? "" : `${tag} `;
  return `${what}${unit === "percent" ? "since" : "at"} ${SINCE[about.since]}`;
}

/** `BTC over ETH, 24 h`; `ETH price now to BTC price now`. */
function operationLabel({ sources, operation, left, value }: Printed): string {
  const sign = { "-": value < 0 ? " under " : " over ", "/": " to ", "%": " of ", "+": " + " }[
    operation ?? "+"
  ];
  const joined = (parts: readonly string[]) =>
    [parts.slice(0, left), parts.slice(left)]
      .filter((side) => side.length > 0)
      .map((side) => side.join(" + "))
      .join(sign);
  const [subjects, tags] = [sources.map(subjectOf), sources.map(tagOf)];
  if (new Set(tags).size === 1)
    return [joined(subjects), tags[0] ?? ""].filter((part) => part.trim() !== "").join(", ");
  if (new Set(subjects).size === 1) return `${subjects[0] ?? ""} ${joined(tags)}`.trim();
  return joined(sources.map(shortOf));
}

const ROW = /^[\s,&/、]*(?:and|or|und|oder|y|et|e|和|と)?$/u;
const CAPITALS = /(?<![\p{L}\p{N}])\p{Lu}[\p{L}\p{N}]*/gu;

/** Whether the nearest name before a figure is its subject's, and nobody unknown stands between. */
function isSubjectTold(
  source: Source,
  { start, end }: Place,
  { text, mentions, carried, ledger, locale }: Setting,
): boolean {
  const { about } = source;
  if (about === null || about.subject === "market") return true;
  const behind = mentions.find((one) => one.start >= end);
  if (
    behind?.subject === about.subject &&
    /^\s?(?:(?:for|in|of|für|bei|de|do|da|para|pour) )?$/u.test(text.slice(end, behind.start))
  )
    return true;
  const before = mentions.filter((one) => one.end <= start);
  const [last, nearest] = [before.at(-2), before.at(-1)];
  // Of names in a row nobody knows which figure is whose.
  if (
    last !== undefined &&
    nearest !== undefined &&
    last.subject !== nearest.subject &&
    ROW.test(text.slice(last.end, nearest.start).trimEnd())
  )
    return false;
  const between = text.slice(nearest?.end ?? 0, start);
  if (nearest !== undefined && (nearest.subject !== about.subject || !nearest.isExact)) return false;
  if (nearest === undefined && carried !== about.subject) return false;
  // Without capitals an unknown name cannot be seen: only what stands close is told.
  if (locale === "zh" || locale === "ja")
    return nearest !== undefined && between.length <= 8 && !/[币幣]|コイン/.test(between);
  return [...between.matchAll(CAPITALS)].every(([word]) => isCommon(word, ledger));
}

function isCommon(word: string, { names }: Ledger): boolean {
  return (
    names.places.has(word) ||
    finds(COMMON, word) ||
    finds(OPENINGS, word) ||
    finds(UP, word) ||
    finds(DOWN, word)
  );
}

function finds(pattern: RegExp, text: string): boolean {
  return text.search(pattern) !== -1;
}

const KIND_WORDS = TOPIC_WORDS.map((list) => ({ list, pattern: words(list) }));
const COMMON = words(TOPIC_WORDS.join("|"));

/** Whether the words of its clause say what a figure is, and over what time, and turn neither round. */
function isKindTold({ about, unit }: Source, place: Place, { text }: Setting): boolean {
  if (about === null) return true;
  const clause = clauseAt(text, place);
  const { words: own, hours, isSigned, label } = wordingOf(about.kind);
  if (about.since === null && clause.text.includes(`${label}: `)) return true;
  if (finds(NOT, clause.text) || finds(elsewhenBut(about.since), clause.text)) return false;
  const span = about.since ?? hours;
  const spans = WINDOWS.filter((one) => finds(one.words, clause.text)).map((one) => one.span);
  const isLevel = span === null || (about.since !== null && unit !== "percent");
  if (isLevel ? spans.length > 0 : spans.length === 0 || spans.some((one) => one !== String(span)))
    return false;
  const isMove =
    unit === "percent" &&
    (about.since === null ? isSigned && /change|Change/.test(about.kind) : about.kind === "price");
  const at = (found: RegExpExecArray | RegExpMatchArray) => (found.index ?? 0) + clause.from;
  const distance = (found: RegExpMatchArray) =>
    at(found) >= place.end ? 2 * (at(found) - place.end) : place.start - at(found) - found[0].length;
  const told = KIND_WORDS.flatMap(({ list, pattern }) =>
    [...clause.text.matchAll(pattern)].map((found) => ({ list, far: distance(found) })),
  );
  if (isMove)
    told.push(
      ...[UP, DOWN].flatMap((pattern) =>
        [...clause.text.matchAll(pattern)].map((found) => ({ list: own, far: distance(found) })),
      ),
    );
  const least = Math.min(...told.map(({ far }) => far));
  return told.some(({ list, far }) => far === least && list === own);
}

/** "Since the shift began" is of now where the fact is of that time. */
function elsewhenBut(since: NonNullable<Source["about"]>["since"]): RegExp {
  return since === null ? ELSEWHEN : PAST;
}
const PAST = words(
  "will|would|could|may|might|should|tomorrow|targets?|forecast|expect\\p{L}*|wird|würde|será|sera|将",
);
