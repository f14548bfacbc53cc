import { amountIn } from "./amounts";
import { isModels, type Ledger, type Source } from "./facts";
import { wordingOf } from "./kinds";
import { labelOf, shortOf, signAt, subjectOf, type Setting } from "./labels";
import { SCRIPTS, type Locale } from "./languages";
import { ofFact, type Printed } from "./slots";

/** How figures, citations and facts are told in a text, with their brackets. Pure. */

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

/** A figure in its place, and the writer's own words for it where they stay. */
export type Item = { start: number; end: number; printed: Printed; keeps?: string };
/** In what language facts are told, and how they are counted. */
export type Desk = { ledger: Ledger; locale: Locale; kept: number[]; how: How };

/** Whether a figure has a direction, which its sign or a word says. */
export function isDirected({ sources, operation, unit }: Printed): boolean {
  const about = sources[0]?.about;
  if (operation !== null || about == null) return false;
  return wordingOf(about.kind).isSigned || (about.since !== null && unit === "percent");
}

/** A figure with its bracket. */
export function itemIn(item: Item, setting: Setting, desk: Desk): string {
  const { printed: made, keeps } = item;
  const [first] = made.sources;
  if (first === undefined) return "";
  if (made.unit === "text") {
    const told = [keeps === undefined ? "" : `“${safe(first.words ?? "")}”`, modelMark(first)];
    return (keeps ?? quoteIn(first, desk)) + bracket([first], joined(told), desk);
  }
  const label = labelOf(made, item, setting);
  if (keeps !== undefined) return keeps + bracket(made.sources, joined([label, amountOf(made, desk)]), desk);
  const isSigned = isDirected(made) ? signAt(item, made.value, setting).sign : "minus";
  return (
    amountOf(made, desk, made.operation === "-" ? "none" : isSigned) + bracket(made.sources, label, desk)
  );
}

const joined = (parts: readonly string[]): string => parts.filter((part) => part !== "").join(" ");
const modelMark = (source: Source): string => (isModels(source) ? "model" : "");

function amountOf(made: Printed, { locale }: Desk, sign?: "both" | "minus" | "none"): string {
  const ticker = made.sources[0]?.about?.subject ?? "";
  return amountIn(locale, made.value, made.unit, {
    ticker,
    sign: sign ?? (isDirected(made) ? "both" : "minus"),
  });
}

/** A citation without a figure of its own shows its fact. */
export function citationIn(source: Source, isQuoted: boolean, desk: Desk): string {
  if (desk.how.isBare === true) return bracket([source], "", desk);
  if (source.value !== null)
    return bracket([source], `${shortOf(source)} ${amountOf(ofFact(source), desk)}`, desk);
  const words = isQuoted ? "" : `“${safe(beginning(source.words ?? source.says, BRACKET_WORDS))}”`;
  return bracket([source], [modelMark(source), words].filter((part) => part !== "").join(": "), desk);
}

/** How many words a bracket holds, and a quotation in the text. */
const BRACKET_WORDS = 12;
const QUOTED_WORDS = 24;

/** The first words of a text, no figure cut in two. */
function beginning(text: string, most: number): string {
  const all = text.split(/\s+/);
  if (all.length <= most) return text;
  const few = all.slice(0, most);
  while (few.length > 0 && /[\d$€£]/.test(few.at(-1) ?? "")) few.pop();
  return `${few.join(" ")} …`;
}

function safe(text: string): string {
  return text.replace(/[[\]{}\n]/g, " ").trim();
}

function bracket(sources: readonly Source[], label: string, { kept, how }: Desk): string {
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
    if (source.value === null) return quoteIn(source, desk) + bracket([source], modelMark(source), desk);
    return `${subjectOf(source)} ${tagged(source)}: ${amountOf(ofFact(source), desk)}${bracket([source], "", desk)}`.trim();
  });
  return said.length === 0 ? "" : `${said.join("; ")}.`;
}

function quoteIn({ words, says }: Source, { locale }: Desk): string {
  return SCRIPTS[locale].quote.replace("#", () => safe(beginning(words ?? says, QUOTED_WORDS)));
}

function tagged({ about, says }: Source): string {
  return about === null || about.since !== null
    ? (says.split(": ")[0]?.replace(/^\S+ /, "") ?? "")
    : wordingOf(about.kind).label;
}
