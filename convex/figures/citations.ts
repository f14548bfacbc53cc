import { formatFact, type CitedSource, type Fact, type Source } from "./facts";
import { indexNames, type Names } from "./mentions";
import { normalizeText } from "../lib/text/sentences";
import { toIso } from "../lib/time";

/** Facts as numbered sources: for the writer's prompt, for checking its text, and for readers. Pure. */

export type UnnumberedSource = Omit<Source, "id">;

export function toSource(fact: Fact, says = formatFact(fact)): UnnumberedSource {
  return { says, fact };
}

/** A statement as a source. @param by.words The full wording, where it is longer than the statement. */
export function toStatementSource({
  says,
  words = says,
  name,
  url = null,
  observedAt,
}: {
  says: string;
  words?: string;
  name: string;
  url?: string | null;
  observedAt: number;
}): UnnumberedSource {
  const by = { subject: "", source: name, url: url ?? "", observedAt };
  return { says, fact: { ...by, kind: "statement", value: words } };
}

/** The facts with their numbers, from 1. */
export function numberSources(sources: readonly UnnumberedSource[]): Source[] {
  return sources.map((source, index) => ({ ...source, id: index + 1 }));
}

const MODEL = "said by a language model";

/** The name of a source that is only a model's statement. */
export const nameModelSource = (what: string): string => `${what}, ${MODEL}, unverified`;

export const isModels = ({ fact: { source } }: Source): boolean =>
  source.includes(MODEL) || source === "model";

/** The index that a text is checked against. */
export type CitationIndex = {
  facts: ReadonlyMap<number, Source>;
  names: Names;
  /** The symbol that the text is about; "" for the whole market. */
  focus: string;
  /** Digits that are no figures: its own date, and those of the facts. */
  free: RegExp;
  /** The question that it may quote, digits and all; "" for none. */
  question: string;
};

/**
 * @param now When the text is written, in epoch ms.
 * @param about The names that the text may mention, its focus, and the question that it answers and may quote.
 */
export function buildCitationIndex(
  sources: readonly Source[],
  now: number,
  {
    names = indexNames([]),
    focus = "",
    question = "",
  }: { names?: Names; focus?: string; question?: string } = {},
): CitationIndex {
  const stamps = [now, ...sources.map(({ fact }) => fact.observedAt)].map(toIso);
  const days = [...new Set(stamps.map((stamp) => stamp.slice(0, 10)))].flatMap(listDayForms);
  const times = [...new Set(stamps.map((stamp) => stamp.slice(11, 16)))].map(
    (time) => `${time}(?::\\d\\d(?:\\.\\d+)?)?(?: ?(?:UTC|GMT|Z)\\b)?`,
  );
  const forms = [...days, ...times].join("|");
  return {
    facts: new Map(sources.map((source) => [source.id, source])),
    names,
    focus,
    question: normalizeText(question),
    free: new RegExp(
      `(?<![\\p{Script=Latin}\\d.,:$-])(?:${forms})(?![\\p{Script=Latin}\\d]|[.,:]\\d|\\s?%)`,
      "giu",
    ),
  };
}

/** A day as it may be written: `2026-01-05`, `5 January 2026`, `Jan 5th`; and its year after a preposition. */
function listDayForms(date: string): string[] {
  const [year = "", , day] = date.split("-").map((part) => String(Number(part)));
  const formatMonth = (month: "long" | "short") =>
    new Date(date).toLocaleString("en-US", { month, timeZone: "UTC" });
  const month = `(?:${formatMonth("long")}|${formatMonth("short")})\\.?`;
  const nth = `${day ?? ""}(?:st|nd|rd|th)?`;
  return [
    `${date}(?:T[\\d:.]+Z)?|(?:${nth} (?:of )?${month}|${month} ${nth})(?:,? ${year})?|${month} ${year}`,
    `(?<=(?<!\\p{L})(?:in|of|since|year|early|late) )${year}(?! ?(?:%|percent|USD|dollars|coins|tokens|transactions|bps))`,
  ];
}

/** The cited facts, in the order of their numbers. */
export function listCited(kept: readonly number[], { facts }: CitationIndex): CitedSource[] {
  return kept.flatMap((id, index) => {
    const source = facts.get(id);
    if (source === undefined) return [];
    const { says, fact: of } = source;
    const url = of.url === "" ? null : of.url;
    return [{ id: index + 1, name: of.source, url, observedAt: of.observedAt, says }];
  });
}
