import type { Infer } from "convex/values";
import { iso } from "../../lib/time";
import { freeDigits } from "./asides";
import { type Unit } from "../../lib/facts";
import { sayingOf } from "../../lib/facts";
import { namesOf, type Names } from "../../lib/money/names";
import type { vCitedSource } from "../validators";
import type { Fact, Kind } from "../../lib/facts";

/** Facts as a writer is given them, by number, and as readers can find them. Pure. */

/** The subject and kind of a fact. */
export type About = {
  subject: string;
  kind: Kind;
  /** If it is about an earlier time: the change since then (percent), or the value then. */
  since: "start" | "report" | null;
};

/** A fact with its number in a text's citations, and its origin. */
export type Source = {
  id: number;
  /** In full: `BTC price: 97,250.50 USD`. */
  says: string;
  /** Its words, if it has no value. */
  words: string | null;
  /** `null` if it has only words. */
  value: number | null;
  unit: Unit;
  about: About | null;
  /** Epoch ms. */
  observedAt: number;
  /** The source's name for readers. */
  name: string;
  /** `null` without a public page. */
  url: string | null;
};

export type Uncounted = Omit<Source, "id">;

/** A fact as a source to cite. */
export function sourceOfFact(fact: Fact, since: About["since"] = null): Uncounted {
  const { subject, kind, value, unit, observedAt, source: name, url } = fact;
  const isNumber = typeof value === "number";
  return {
    says: sayingOf(fact),
    words: isNumber ? null : value,
    value: isNumber ? value : null,
    unit,
    about: { subject, kind, since },
    ...{ observedAt, name, url: url === "" ? null : url },
  };
}

export function sourceOfWords(
  source: Pick<Source, "says" | "observedAt" | "name"> & { url?: string | null; words?: string },
): Uncounted {
  return { words: source.says, value: null, unit: "text", about: null, url: null, ...source };
}

/** The facts with their numbers, from 1. */
export function counted(sources: readonly Uncounted[]): Source[] {
  return sources.map((source, index) => ({ ...source, id: index + 1 }));
}

/** A source as a prompt lists it. */
export function citableLine({ id, says, name, observedAt }: Source): string {
  return `f${id} ${says} (${name}, ${iso(observedAt).slice(0, 16)}Z)`;
}

const MODEL = "said by a language model";

/** The name of a source that is only a model's statement. */
export const modelNamed = (what: string): string => `${what}, ${MODEL}, unverified`;

export function isModels({ name }: Pick<Source, "name">): boolean {
  return name.includes(MODEL) || name === "model";
}

/** What a text is checked against. */
export type Ledger = {
  facts: ReadonlyMap<number, Source>;
  names: Names;
  /** The symbol that the text is about; "" for the whole market. */
  focus: string;
  /** Its own date and those of the facts, in all spellings, and the question that it quotes: they need no fact. */
  free: readonly RegExp[];
};

/**
 * @param now When the text is written, in epoch ms.
 * @param about The names that the text may mention, and its focus; by default the best-known coins.
 */
export function ledgerOf(
  sources: readonly Source[],
  now: number,
  {
    names = namesOf([]),
    focus = "",
    question = "",
  }: { names?: Names; focus?: string; question?: string } = {},
): Ledger {
  const facts = new Map(sources.map((source) => [source.id, source]));
  const free = freeDigits([now, ...sources.map(({ observedAt }) => observedAt)], question);
  return { facts, names, focus, free };
}

export type CitedSource = Infer<typeof vCitedSource>;

/** The cited facts, in the order of their numbers. */
export function citedOf(kept: readonly number[], { facts }: Ledger): CitedSource[] {
  return kept.flatMap((fact, index) => {
    const source = facts.get(fact);
    if (source === undefined) return [];
    const { name, url, observedAt, says } = source;
    return [{ id: index + 1, name, url, observedAt, says }];
  });
}

/** How a writer states figures: for the system part of a prompt. */
export const SLOT_RULES =
  "Do not write figures yourself: in the place of the figure of fact 12, write {f12}. Code prints its value, unit, sign and " +
  "source there (“Bitcoin trades at {f12}, {f13} higher than a day ago”), about as long as $97,250 or +1.4%; put no " +
  "currency, percent sign or scale beside it. To compare two facts of one kind and unit: {f2-f19} prints their " +
  "difference, {f27/f10} their ratio (1.6×), {f10%f11} the first as a share of the second, {f34+f17} their sum. The slot of " +
  "a headline prints it as a quotation. After a statement without a figure, cite its fact: [f12]. Say in words which coin " +
  "and what is meant, and over what time. Names and today's date may contain digits. Write no other numbers, neither in " +
  "digits nor in words: no targets, probabilities or records. If no fact has a figure, write without one.";
