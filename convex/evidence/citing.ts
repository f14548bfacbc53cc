import type { Infer } from "convex/values";
import { iso } from "../lib/time";
import { checkTogether, type CitableFact, type Checked, type Ledger } from "./checking";
import { CITATION } from "./figures";
import { sayingOf, unitOf } from "./kinds";
import { namesOf, type Names } from "./names";
import { joined, paragraphsOf, sentencesOf } from "./sentences";
import type { Fact, vCitedSource } from "./tables";

/** From a text that cites numbered facts to one that its readers can check: what is unproven goes, and sources are listed. Pure. */

/** A fact as a writer may cite it, and where it is from. */
export type Source = CitableFact & {
  /** The source's name as readers know it. */
  name: string;
  /** `null` where there is no page to look at. */
  url: string | null;
};

export type Uncounted = Omit<Source, "id">;

/** What was observed, as a source to cite. */
export function sourceOfFact(fact: Fact): Uncounted {
  const { subject, kind, value, observedAt, source: name, url } = fact;
  const number = typeof value === "number" ? value : null;
  const about = number === null ? null : { subject, kind, since: null, source: name };
  return { says: sayingOf(fact), value: number, unit: unitOf(fact), about, observedAt, name, url };
}

/** Words without a figure of their own, as a source to cite. */
export function sourceOfWords(
  told: Pick<Source, "says" | "observedAt" | "name"> & { url?: string | null },
): Uncounted {
  return { value: null, unit: null, about: null, url: null, ...told };
}

/** A source as a prompt lists it. */
export function citableLine({ id, says, name, observedAt }: Source): string {
  return `[f${id}] ${says} (${name}, ${iso(observedAt).slice(0, 16)}Z)`;
}

export type CitedSource = Infer<typeof vCitedSource>;

/** The facts that were cited, in the order in which they are counted. */
export function citedOf(kept: readonly number[], { facts }: Ledger<Source>): CitedSource[] {
  return kept.flatMap((fact, index) => {
    const source = facts.get(fact);
    if (source === undefined) return [];
    const { name, url, observedAt, says } = source;
    return [{ id: index + 1, name, url, observedAt, says }];
  });
}

/** The texts of a result, in the order in which its citations are counted. */
export type Texts = {
  analysis: string;
  summary: string;
  impacts: { title: string; detail: string }[];
};

export type { Ledger };

/** @param about Whom the text may speak of, and its focus; without them the coins that everybody knows. */
export function ledgerOf(
  sources: readonly Source[],
  now: number,
  { names = namesOf([]), focus = "" }: { names?: Names; focus?: string } = {},
): Ledger<Source> {
  return { facts: new Map(sources.map((source) => [source.id, source])), names, focus, now };
}

/** What is wrong with the figures of a result, for the writer; `null` where all is well. */
export function figureProblems({ analysis, summary, impacts }: Texts, ledger: Ledger): string | null {
  const together = [
    ...paragraphsOf(analysis),
    [summary],
    ...impacts.map(({ title, detail }) => [title, ...sentencesOf(detail)]),
  ];
  const problems = listed(together.flatMap((sentences) => checkTogether(sentences, ledger)));
  if (problems === null) return null;
  return (
    "every figure must stand right before the citation of a fact that says it, of the same coin, of the same kind and " +
    `over the same time, or go: ${problems}`
  );
}

/** The problems of sentences as the writer is told them; `null` without any. */
export function listed(checked: readonly Checked[]): string | null {
  const problems = checked.flatMap((one) => one.problems);
  if (problems.length === 0) return null;
  const shown = problems.slice(0, MAX_LISTED).join("; ");
  const more = problems.length > MAX_LISTED ? `; and ${problems.length - MAX_LISTED} more` : "";
  return `${shown}${more}`;
}

const MAX_LISTED = 40;

export type Settled<Impact extends { title: string; detail: string }> = {
  analysis: string;
  /** `null` where it stated what is not proven. */
  summary: string | null;
  impacts: Impact[];
  sources: CitedSource[];
  checked: { figures: number; cited: number; removed: number };
  /** The share of all sentences that went. */
  lost: number;
};

/** Takes out every sentence with a figure that its citations do not say, and numbers the citations as readers see them. */
export function settle<Impact extends { title: string; detail: string }>(
  texts: { analysis: string; summary: string; impacts: readonly Impact[] },
  ledger: Ledger<Source>,
): Settled<Impact> {
  let [figures, removed, sentences] = [0, 0, 0];
  const kept: number[] = [];
  /** What stays of sentences that stand together, a place for each. */
  const proven = (together: readonly string[]): (string | null)[] =>
    checkTogether(together, ledger).map((checked, index) => {
      sentences += 1;
      if (checked.problems.length > 0) {
        removed += 1;
        return null;
      }
      figures += checked.figures;
      return renumbered(together[index] ?? "", kept);
    });
  const analysis = joined(paragraphsOf(texts.analysis).map((paragraph) => told(proven(paragraph))));
  const [summary] = proven([texts.summary]);
  const impacts = texts.impacts.flatMap((impact) => {
    const [title, ...details] = proven([impact.title, ...sentencesOf(impact.detail)]);
    const detail = told(details).join(" ");
    return title == null || detail === "" ? [] : [{ ...impact, title, detail }];
  });
  return {
    analysis,
    summary: summary ?? null,
    impacts,
    sources: citedOf(kept, ledger),
    checked: { figures, cited: kept.length, removed },
    lost: sentences === 0 ? 0 : removed / sentences,
  };
}

function told(sentences: readonly (string | null)[]): string[] {
  return sentences.filter((sentence) => sentence !== null);
}

/** `[f12]` as `[1]`, in the order in which facts are first cited. @param kept The facts cited so far; new ones are added. */
export function renumbered(sentence: string, kept: number[]): string {
  return sentence.replace(CITATION, (group) =>
    Array.from(group.matchAll(/\d+/g), ([text]) => {
      const id = Number(text);
      if (!kept.includes(id)) kept.push(id);
      return `[${kept.indexOf(id) + 1}]`;
    }).join(""),
  );
}

/** How long a text with `[f12]` will be once they are `[1]`, about. */
export function withoutMarks(text: string): string {
  return text.replace(CITATION, (group) => "[1]".repeat(group.match(/\d+/g)?.length ?? 1));
}
