import { isModels, type Source } from "../../evidence/text/sources";
import { nameOf, type Brief } from "./brief";
import { shortened, wordsOver } from "./result";
import type { Outlook, Texts } from "../shapes";

/** A report written by code from the facts alone, in their own words. Pure. */

/** A day's change below this says nothing about direction; percent. */
const CLEAR_CHANGE = 1;
const IMPACTS = 5;

export function plainNote({ sources, missing }: Brief, focus: string): Texts {
  const observed = sources.filter((source) => !isModels(source));
  const changes = observed.filter(({ says }) =>
    /^\S+ (?:price change over 24 hours|change of the last trade)/.test(says),
  );
  const lead = changes[0];
  const marketOutlook = outlookOf(lead?.value ?? 0);
  const paragraphs = [
    `This report on ${focus === "" ? "the market" : focus} was written by code, not by an analyst: what a language model ` +
      "wrote stated figures that no source gave, and was refused. It lists what was observed.",
    ...inGroups(observed).map((group) => group.map(sentenceOf).join(" ")),
    ...(missing.length === 0
      ? []
      : [
          `Not collected: ${missing.map(({ collector, subject }) => nameOf(collector, subject)).join(", ")}.`,
        ]),
  ];
  return {
    fullAnalysis: shortened(paragraphs.join("\n\n"), wordsOver(paragraphs.join("\n\n"))),
    shortSummary:
      lead === undefined ? "Facts alone, without a price" : `Facts alone, by code: ${lineOf(lead)}`,
    marketOutlook,
    impacts: (changes.length === 0 ? observed : changes).slice(0, IMPACTS).map((source) => ({
      title: subjectOf(source),
      detail: sentenceOf(source),
      sentiment: outlookOf(source.value ?? 0),
      confidence: 0.5,
    })),
  };
}

function sentenceOf(source: Source): string {
  return `${lineOf(source)}.`;
}

/** `BTC price: {f1}` */
function lineOf({ says, id }: Source): string {
  return `${says.split(": ")[0] ?? ""}: {f${id}}`;
}

/** Groups facts about one subject; single ones form a group together. */
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
