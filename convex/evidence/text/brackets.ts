import type { Adopted } from "./adoption";
import { amountIn, SCRIPTS, words, type Locale } from "../../lib/text/locales";
import { isModels, type Ledger, type Source } from "./sources";
import type { Place } from "../../lib/text/figures";
import { wordingOf } from "../../lib/facts";
import { DOWN, NOT, OVER, UNDER, UP } from "../../lib/text/languages";
import type { Mention } from "../../lib/money/names";
import { ofFact, type Operation, type Printed } from "./slots";

/**
 * Prints figures, citations and facts in a text. The bracket after a figure always says what it is and over what time,
 * and whose it is unless the prose says so: a sentence that uses a figure wrongly shows it. Pure.
 */

export type How = {
  /** The facts counted so far, in the order of their numbers; new ones are added. */
  kept?: number[];
  /** A summary or title: without brackets; necessary additions are in parentheses. */
  isBare?: boolean;
  /** The language of the surrounding text; by default it is recognised. */
  locale?: Locale;
  /** A text without citations: a figure may come from any fact of the subject named last. */
  isUncited?: boolean;
  /** A sentence may only state something about a fact, by its number, and nothing that matches `refused`. */
  bound?: { refused: RegExp };
  /** What happens to a figure without a fact: its sentence is replaced by facts, or the figure is marked as a model's. */
  left?: "facts" | "mark";
};

/** How a text is printed, in which language, and which facts were shown in this paragraph. */
export type Printing = How & { ledger: Ledger; locale: Locale; kept: number[]; labelled: Set<string> };

export type Item = Place & Adopted;

/** A printed figure, and its part of the bracket after it. */
export type PrintedFigure = { amount: string; sources: readonly Source[]; label: string };

/** The sentence around a figure: what was read is blanked out; its names; and the end of the figure before. */
export type Around = { text: string; mentions: readonly Mention[]; from: number };

export function printedFigure(made: Item, around: Around, printing: Printing): PrintedFigure {
  const { first, bound, operation } = made;
  const sources = made.sides.flat();
  const mark = isModels(first) ? "model" : "";
  if (made.unit === "text") return { amount: quoteIn(first, printing), sources, label: mark };
  const label = labelOf(made, around, printing);
  if (bound !== undefined) {
    const amount = amountOf({ ...made, value: bound }, printing, "none");
    return { amount, sources, label: joined(" ", label, amountOf(made, printing)) };
  }
  const isSaid = isGap(operation) || direction(made, around.text) > 0;
  return {
    amount: amountOf(made, printing, isSaid ? "none" : undefined),
    sources,
    label: joined(", ", label, mark),
  };
}

const joined = (by: string, ...parts: string[]): string => parts.filter((part) => part !== "").join(by);

const isGap = (operation: Operation | null): boolean => operation === "-" || operation === "gap";

function amountOf(made: Printed, { locale }: Printing, sign?: "none"): string {
  const ticker = made.first.about?.subject ?? "";
  const own = isDirected(made) ? "both" : "minus";
  return amountIn(locale, made.value, made.unit, { ticker, sign: sign ?? own });
}

/** Whether a figure has a direction, shown by its sign or a word. */
function isDirected({ first: { about }, operation, unit }: Printed): boolean {
  if (operation !== null || about === null) return false;
  return wordingOf(about.kind).isSigned || (about.since !== null && unit === "percent");
}

const DIRECTION = new RegExp(
  `(?<!\\p{Script=Latin})(?:(${UP})|${DOWN})(?:\\s?(?:by|of|um|von|de|en|une?|about|some|just|roughly|etwa|了|約|约|${OVER}|${UNDER})){0,3}\\s?[+-]?$`,
  "iu",
);
const TURNED = words(NOT);

/** Whether words right before a figure state its direction (above 0) or the opposite; 0 if none do, or something may reverse them. */
export function direction(made: Item, text: string): number {
  const before = text.slice(Math.max(0, made.start - 50), made.start);
  const found = isDirected(made) ? DIRECTION.exec(before) : null;
  if (found === null || before.search(TURNED) !== -1) return 0;
  return found[1] === undefined ? -made.value : made.value;
}

/** Whether all names since the previous figure (or in the sentence) are its subject's, without an unknown one in between. */
function isNamed({ first: { about }, start }: Item, { text, mentions, from }: Around, { locale }: Printing) {
  if (about === null || about.subject === "market") return true;
  // Without capitals an unknown name cannot be recognised.
  if (locale === "zh" || locale === "ja") return false;
  const before = mentions.filter(({ end }) => end <= start);
  const near = before.filter((one) => one.start >= from);
  const names = near.length > 0 ? near : before;
  const last = names.at(-1);
  const isAlone = names.every(({ subject, isExact }) => subject === about.subject && isExact);
  return last !== undefined && isAlone && !/(?<![\p{L}\p{N}])\p{Lu}/u.test(text.slice(last.end, start));
}

/** Whether a fact is named right before its figure, or in a text without brackets by its tag's words. */
function isWritten({ first, start }: Item, { text, from }: Around, { isBare }: Printing): boolean {
  if (text.slice(0, start).endsWith(`${first.says.split(": ")[0] ?? ""}: `)) return true;
  const clause = ` ${text.slice(from, start + 30).toLowerCase()}`;
  const tag = shortOf(first).toLowerCase().split(/[ -]/);
  return isBare === true && clause.search(TURNED) === -1 && tag.every((word) => clause.includes(` ${word}`));
}

/** The sign between the names in an operation's label. */
const SIGNS: Readonly<Record<Operation, string>> = {
  ...{ "-": " over ", gap: " over ", "/": " to ", "%": " of ", "+": " + " },
};

/** What a figure is; "" if the text says so. */
function labelOf(made: Item, around: Around, printing: Printing): string {
  const { sides, first, operation, value } = made;
  if (isWritten(made, around, printing)) return "";
  if (operation === null) return isNamed(made, around, printing) ? tagOf(first) : shortOf(first);
  const sign = isGap(operation) && value < 0 ? " under " : SIGNS[operation];
  const each = (name: (one: Source) => string) => sides.map((side) => side.map(name).join(" + ")).join(sign);
  const isOne = (name: (one: Source) => string) => new Set(sides.flat().map(name)).size === 1;
  if (isOne(tagOf)) return joined(", ", each(subjectOf).trim(), tagOf(first));
  return isOne(subjectOf) ? joined(" ", subjectOf(first), each(tagOf)) : each(shortOf);
}

/** A fact in a bracket of its own: `BTC 24 h`. */
const shortOf = (source: Source): string => joined(" ", subjectOf(source), tagOf(source));

/** The subject of a figure; "" for the whole market. */
function subjectOf({ about }: Source): string {
  return about === null || about.subject === "market" ? "" : about.subject;
}

const SINCE = { start: "the shift’s start", report: "the last report" } as const;

function tagOf({ about, unit }: Source): string {
  if (about === null) return "";
  const { tag } = wordingOf(about.kind);
  if (about.since === null) return tag;
  const what = about.kind === "price" ? "" : tag;
  return joined(" ", what, unit === "percent" ? "since" : "at", SINCE[about.since]);
}

/** A citation without a figure shows its fact, unless the sentence repeats its words. */
export function citedIn(source: Source, sentence: string, printing: Printing): PrintedFigure {
  const citation = { amount: "", sources: [source] };
  if (printing.isBare === true) return { ...citation, label: "" };
  if (source.value !== null)
    return { ...citation, label: joined(" ", shortOf(source), amountOf(ofFact(source), printing)) };
  const isQuoted = sentence.includes(source.words ?? source.says);
  const quote = isQuoted ? "" : quoteIn(source, printing, "“#”", BRACKET_WORDS);
  return { ...citation, label: joined(": ", isModels(source) ? "model" : "", quote) };
}

/** The most words of a quotation in a bracket, and in the text. */
const BRACKET_WORDS = 12;
const QUOTED_WORDS = 24;

/** The first words of a fact, without cutting a figure. */
function quoteIn(source: Source, { locale }: Printing, form = SCRIPTS[locale].quote, most = QUOTED_WORDS) {
  const bare = (source.words ?? source.says).replace(/[[\]{}\n]/g, " ");
  const all = bare.trim().split(/\s+/);
  const few = all.slice(0, most);
  while (all.length > most && /[\d$€£]/.test(few.at(-1) ?? "")) few.pop();
  return form.replace("#", () => [...few, ...(all.length > most ? ["…"] : [])].join(" "));
}

/**
 * One bracket for the figures before it, in order: `[1: 24 h; 2, 3: now]`. A fact that was shown in the paragraph is
 * only its number.
 */
export function bracketOf(all: readonly PrintedFigure[], printing: Printing): string {
  const parts: { ids: number[]; label: string }[] = [];
  const here = new Set<string>();
  for (const { sources, label: whole } of all) {
    const ids = sources.map((source) => numberOf(source, printing));
    const key = `${ids.join()} ${whole}`;
    if (here.has(key)) continue;
    here.add(key);
    const label = printing.labelled.has(key) ? "" : whole;
    printing.labelled.add(key);
    const last = parts.at(-1);
    if (last?.label === label) last.ids.push(...ids);
    else parts.push({ ids, label });
  }
  const labels = joined("; ", ...parts.map(({ label }) => label));
  if (printing.isBare === true) return labels === "" ? "" : ` (${labels})`;
  const groups = parts.map(({ ids, label }) => joined(": ", [...new Set(ids)].join(", "), label));
  return groups.length === 0 ? "" : ` [${groups.join("; ")}]`;
}

function numberOf({ id }: Source, { kept }: Printing): number {
  if (!kept.includes(id)) kept.push(id);
  return kept.indexOf(id) + 1;
}

/** Facts in code's words, in place of a sentence that could not stay. */
export function inFacts(sources: readonly Source[], printing: Printing): string {
  if (printing.isUncited === true || printing.isBare === true) return "";
  const statements = [...new Set(sources)].map((source) => {
    const [name = ""] = source.says.replace(/^Market /, "").split(/ when |: /);
    const isWords = source.value === null;
    const amount = isWords ? quoteIn(source, printing) : `${name}: ${amountOf(ofFact(source), printing)}`;
    const label = isWords && isModels(source) ? "model" : "";
    return amount + bracketOf([{ amount, sources: [source], label }], printing);
  });
  return statements.length === 0 ? "" : `${statements.join("; ")}.`;
}
