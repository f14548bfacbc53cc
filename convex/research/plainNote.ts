import type { Source } from "../evidence/citing";
import { isModels, nameOf, type Brief } from "./brief";
import { markedSummary } from "./result";
import type { Outlook, Result } from "./shapes";

/** A report written from the facts alone, without a model: each fact in its own words, cited. Pure. */

/** A day's change below this says nothing about direction; percent. */
const CLEAR_CHANGE = 1;
const IMPACTS = 5;

type Note = Pick<Result, "fullAnalysis" | "shortSummary" | "marketOutlook" | "impacts">;

export function plainNote({ sources, missing }: Brief, focus: string): Note {
  const observed = sources.filter((source) => !isModels(source));
  const changes = observed.filter(({ says }) =>
    /^\S+ (?:price change over 24 hours|change of the last trade)/.test(says),
  );
  const lead = changes[0];
  const marketOutlook = outlookOf(lead?.value ?? 0);
  const paragraphs = [
    `This report on ${focus === "" ? "the market" : focus} lists what was observed, each line with its source.`,
    ...inGroups(observed).map((group) => group.map(sentenceOf).join(" ")),
    ...(missing.length === 0
      ? []
      : [
          `Not collected: ${missing.map(({ collector, subject }) => nameOf(collector, subject)).join(", ")}.`,
        ]),
  ];
  const summary = lead === undefined ? "Facts alone, without a price" : `${lead.says} [f${lead.id}]`;
  return {
    fullAnalysis: paragraphs.join("\n\n"),
    shortSummary: markedSummary(summary, marketOutlook),
    marketOutlook,
    impacts: (changes.length === 0 ? observed : changes).slice(0, IMPACTS).map((source) => ({
      title: subjectOf(source),
      detail: sentenceOf(source),
      sentiment: outlookOf(source.value ?? 0),
      confidence: 0.5,
    })),
  };
}

function sentenceOf({ says, id }: Source): string {
  return `${says} [f${id}].`;
}

/** Facts about one subject that stand together; single ones stand with one another. */
function inGroups(sources: readonly Source[]): Source[][] {
  const groups: Source[][] = [];
  for (const [index, source] of sources.entries()) {
    const last = groups.at(-1);
    const before = sources[index - 1];
    const next = sources[index + 1];
    const isSubject = (other: Source | undefined) =>
      other !== undefined && subjectOf(other) === subjectOf(source);
    const isSingle = !isSubject(before) && !isSubject(next);
    if (last !== undefined && (isSubject(before) || (isSingle && isMixed(last)))) last.push(source);
    else groups.push([source]);
  }
  return groups;
}

/** Whether each fact of a group has a subject of its own. */
function isMixed(group: readonly Source[]): boolean {
  return new Set(group.map(subjectOf)).size === group.length;
}

function subjectOf({ says }: Source): string {
  return says.split(" ")[0] ?? "";
}

function outlookOf(change: number): Outlook {
  if (change >= CLEAR_CHANGE) return "bullish";
  return change <= -CLEAR_CHANGE ? "bearish" : "neutral";
}
