import type { Adopted } from "./adoption";
import { amountIn } from "./amounts";
import { isModels, type Ledger, type Source } from "./facts";
import type { Place } from "./figures";
import { wordingOf } from "./wordings";
import { DOWN, NOT, OVER, SCRIPTS, UNDER, UP, words, type Locale } from "./languages";
import type { Mention } from "./names";
import { ofFact, type Operation, type Printed } from "./slots";

/**
 * How figures, citations and facts are told in a text. Behind each figure stands a bracket that says of what it is and over
 * what time, always, and whose it is where the prose does not: a sentence that uses a figure wrongly shows it. Pure.
 */

export type How = {
  /** The facts counted so far, by the order of their numbers: new ones are added. */
  kept?: number[];
  /** A summary or title: without brackets, what has to be said in parentheses. */
  isBare?: boolean;
  /** The language of what the text belongs to; without one its own words tell. */
  locale?: Locale;
  /** A text without citations: any fact of who was named last may be a figure's. */
  isUncited?: boolean;
  /** What becomes of a figure that no fact has: its sentence gives way to facts, or the figure is marked as a model's. */
  left?: "facts" | "mark";
};

/** In what language facts are told, and how they are counted. */
export type Desk = { ledger: Ledger; locale: Locale; kept: number[]; how: How };

/** A figure in its place. */
export type Item = Place & Adopted;

/** A sentence around a figure: what is read already out of the way, whom it names, and where the figure before ends. */
export type Around = { text: string; mentions: readonly Mention[]; from: number };

/** A figure with its bracket. */
export function itemIn({ start, printed: made, said }: Item, around: Around, desk: Desk): string {
  const [first] = made.sources;
  if (first === undefined) return "";
  const { unit, value, operation } = made;
  if (unit === "text") return quoteIn(first, desk) + bracket([first], [modelMark(first)], desk);
  const label = isWritten(first, start, around, desk)
    ? ""
    : labelOf(made, isNamed(first, start, around, desk));
  if (said !== undefined) {
    const own = typeof said === "string" ? said : amountOf({ ...made, value: said }, desk, "none");
    return own + bracket(made.sources, [label, amountOf(made, desk)], desk);
  }
  const isSaid = isDirected(made) && directionAt(start, around.text) === Math.sign(value);
  const sign = operation === "-" || isSaid ? "none" : undefined;
  return amountOf(made, desk, sign) + bracket(made.sources, [label, modelMark(first)], desk);
}

const modelMark = (source: Source): string => (isModels(source) ? "model" : "");

function amountOf(made: Printed, { locale }: Desk, sign?: "none"): string {
  const ticker = made.sources[0]?.about?.subject ?? "";
  return amountIn(locale, made.value, made.unit, {
    ticker,
    sign: sign ?? (isDirected(made) ? "both" : "minus"),
  });
}

/** Whether a figure has a direction, which its sign or a word says. */
function isDirected({ sources, operation, unit }: Printed): boolean {
  const about = sources[0]?.about;
  if (operation !== null || about == null) return false;
  return wordingOf(about.kind).isSigned || (about.since !== null && unit === "percent");
}

const DIRECTION = new RegExp(
  `(?<!\\p{Script=Latin})(?:(${UP})|${DOWN})(?:\\s?(?:by|of|um|von|de|en|une?|about|some|just|roughly|etwa|了|約|约|${OVER}|${UNDER})){0,3}\\s?[+-]?$`,
  "iu",
);
const TURNED = words(NOT);

/** The direction that words right before a place say; 0 where none do, or something may turn them round. */
function directionAt(start: number, text: string): -1 | 0 | 1 {
  const before = text.slice(Math.max(0, start - 50), start);
  const found = DIRECTION.exec(before);
  if (found === null || before.search(TURNED) !== -1) return 0;
  return found[1] === undefined ? -1 : 1;
}

/** Whether a change is said to have gone the other way. */
export function isContrary({ start, printed: made }: Item, text: string): boolean {
  return isDirected(made) && directionAt(start, text) * made.value < 0;
}

/** Whether all names since the figure before (else of the sentence) are its subject's, and none unknown stands between. */
function isNamed(
  { about }: Source,
  start: number,
  { text, mentions, from }: Around,
  { locale }: Desk,
): boolean {
  if (about === null || about.subject === "market") return true;
  // Without capitals an unknown name cannot be seen.
  if (locale === "zh" || locale === "ja") return false;
  const before = mentions.filter(({ end }) => end <= start);
  const near = before.filter((one) => one.start >= from);
  const names = near.length > 0 ? near : before;
  const last = names.at(-1);
  const isAlone = names.every(({ subject, isExact }) => subject === about.subject && isExact);
  return last !== undefined && isAlone && !/(?<![\p{L}\p{N}])\p{Lu}/u.test(text.slice(last.end, start));
}

/** Whether a fact is called by its own name right before its figure, or in a text without brackets by its tag's words. */
function isWritten(source: Source, start: number, { text, from }: Around, { how }: Desk): boolean {
  if (text.slice(0, start).endsWith(`${source.says.split(": ")[0] ?? ""}: `)) return true;
  const clause = ` ${text.slice(from, start + 30).toLowerCase()}`;
  const tag = shortOf(source).toLowerCase().split(/[ -]/);
  return (
    how.isBare === true && clause.search(TURNED) === -1 && tag.every((word) => clause.includes(` ${word}`))
  );
}

function labelOf({ sources, operation, left, value }: Printed, isSubject: boolean): string {
  const [first] = sources;
  if (first === undefined) return "";
  if (operation === null) return isSubject ? tagOf(first) : shortOf(first);
  const signs: Record<Operation, string> = {
    "-": value < 0 ? " under " : " over ",
    "/": " to ",
    "%": " of ",
    "+": " + ",
  };
  const joined = (parts: readonly string[]) =>
    [parts.slice(0, left), parts.slice(left)]
      .flatMap((side) => side.join(" + ") || [])
      .join(signs[operation]);
  const [subjects, tags] = [sources.map(subjectOf), sources.map(tagOf)];
  const isOneTag = new Set(tags).size === 1;
  if (isOneTag)
    return [joined(subjects), ...tags.slice(0, 1)].filter((part) => part.trim() !== "").join(", ");
  const isOneSubject = new Set(subjects).size === 1;
  return isOneSubject ? `${subjects[0] ?? ""} ${joined(tags)}`.trim() : joined(sources.map(shortOf));
}

/** A fact in a bracket of its own: `BTC 24 h`. */
const shortOf = (source: Source): string => `${subjectOf(source)} ${tagOf(source)}`.trim();

/** Whose figure it is; "" for the whole market's. */
function subjectOf({ about }: Source): string {
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

/** A citation without a figure of its own shows its fact, unless the sentence repeats its words. */
export function citationIn(source: Source, sentence: string, desk: Desk): string {
  if (desk.how.isBare === true) return bracket([source], [], desk);
  if (source.value !== null)
    return bracket([source], [shortOf(source), amountOf(ofFact(source), desk)], desk);
  const isQuoted = sentence.includes(source.words ?? source.says);
  const quote = isQuoted ? "" : quoteIn(source, desk, "“#”", BRACKET_WORDS);
  return bracket([source], [[modelMark(source), quote].filter((part) => part !== "").join(": ")], desk);
}

/** How many words a bracket holds, and a quotation in the text. */
const BRACKET_WORDS = 12;
const QUOTED_WORDS = 24;

/** The first words of a fact, no figure cut in two. */
function quoteIn(
  { words: own, says }: Source,
  { locale }: Desk,
  form = SCRIPTS[locale].quote,
  most = QUOTED_WORDS,
) {
  const all = (own ?? says)
    .replace(/[[\]{}\n]/g, " ")
    .trim()
    .split(/\s+/);
  const few = all.slice(0, most);
  while (all.length > most && /[\d$€£]/.test(few.at(-1) ?? "")) few.pop();
  return form.replace("#", () => [...few, ...(all.length > most ? ["…"] : [])].join(" "));
}

function bracket(sources: readonly Source[], said: readonly string[], { kept, how }: Desk): string {
  const label = said.filter((part) => part !== "").join(" ");
  const ids = sources.map(({ id }) => {
    if (!kept.includes(id)) kept.push(id);
    return kept.indexOf(id) + 1;
  });
  if (how.isBare === true) return label === "" ? "" : ` (${label})`;
  return ` [${[...new Set(ids)].join(", ")}${label === "" ? "" : `: ${label}`}]`;
}

/** Facts in code's words, in the place of a sentence that could not stay. */
export function inFacts(sources: readonly Source[], desk: Desk): string {
  if (desk.how.isUncited === true || desk.how.isBare === true) return "";
  const said = [...new Set(sources)].map((source) => {
    if (source.value === null) return quoteIn(source, desk) + bracket([source], [modelMark(source)], desk);
    const [name = ""] = source.says.replace(/^Market /, "").split(/ when |: /);
    return `${name}: ${amountOf(ofFact(source), desk)}${bracket([source], [], desk)}`;
  });
  return said.length === 0 ? "" : `${said.join("; ")}.`;
}
