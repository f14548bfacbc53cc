import { v, type Infer } from "convex/values";
import { sayingOf, unitOf, vFact, vUnit, type Fact } from "../facts";
import { escaped, namesOf, type Names } from "../money/coins";
import { plain } from "../text/sentences";
import { iso } from "../time";

/** Facts as a writer is given them, by number, and as readers find them. Pure. */

/** A fact with its number, and its origin. */
export const vSource = v.object({
  id: v.number(),
  /** In full: `BTC price: $97,250.50`. */
  says: v.string(),
  /** Its words, if it has no value. */
  words: v.union(v.string(), v.null()),
  /** `null` if it has only words. */
  value: v.union(v.number(), v.null()),
  unit: vUnit,
  about: v.union(
    v.object({
      subject: v.string(),
      kind: vFact.fields.kind,
      /** If it is about the beginning of a shift: the change since (percent), or the value then. */
      since: v.union(v.literal("start"), v.null()),
    }),
    v.null(),
  ),
  /** Epoch ms. */
  observedAt: v.number(),
  /** The source's name for readers. */
  name: v.string(),
  /** `null` without a public page. */
  url: v.union(v.string(), v.null()),
});
export type Source = Infer<typeof vSource>;
export type Uncounted = Omit<Source, "id">;

/** A fact as a source to cite. */
export function sourceOfFact(fact: Fact, since: "start" | null = null): Uncounted {
  const { subject, kind, value, observedAt, source: name, url } = fact;
  const isNumber = typeof value === "number";
  return {
    says: sayingOf(fact),
    words: isNumber ? null : value,
    value: isNumber ? value : null,
    unit: unitOf(kind),
    about: { subject, kind, since },
    observedAt,
    name,
    url: url === "" ? null : url,
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

export const isModels = ({ name }: Pick<Source, "name">): boolean => name.includes(MODEL) || name === "model";

/** What a text is checked against. */
export type Ledger = {
  facts: ReadonlyMap<number, Source>;
  names: Names;
  /** The symbol that the text is about; "" for the whole market. */
  focus: string;
  /** Digits that are no figures: its own date, those of the facts, and the question that it quotes. */
  free: RegExp;
};

/**
 * @param now When the text is written, in epoch ms.
 * @param about The names that the text may mention, its focus, and the question that it answers and may quote.
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
  const stamps = [now, ...sources.map(({ observedAt }) => observedAt)].map(iso);
  const days = [...new Set(stamps.map((stamp) => stamp.slice(0, 10)))].flatMap(dayForms);
  const times = [...new Set(stamps.map((stamp) => stamp.slice(11, 16)))].map(
    (time) => `${time}(?::\\d\\d(?:\\.\\d+)?)?(?: ?(?:UTC|GMT|Z)\\b)?`,
  );
  const quoted = question === "" ? [] : [`(?<=["“„«「])${escaped(plain(question))}(?=["”“»」])`];
  const forms = [...days, ...times, ...quoted].join("|");
  return {
    facts: new Map(sources.map((source) => [source.id, source])),
    names,
    focus,
    free: new RegExp(
      `(?<![\\p{Script=Latin}\\d.,:$-])(?:${forms})(?![\\p{Script=Latin}\\d]|[.,:]\\d|\\s?%)`,
      "giu",
    ),
  };
}

/** A day as it may be written: `2026-01-05`, `5 January 2026`, `Jan 5th`; and its year after a preposition. */
function dayForms(date: string): string[] {
  const [year = "", , day] = date.split("-").map((part) => String(Number(part)));
  const named = (month: "long" | "short") =>
    new Date(date).toLocaleString("en-US", { month, timeZone: "UTC" });
  const month = `(?:${named("long")}|${named("short")})\\.?`;
  const nth = `${day ?? ""}(?:st|nd|rd|th)?`;
  return [
    `${date}(?:T[\\d:.]+Z)?|(?:${nth} (?:of )?${month}|${month} ${nth})(?:,? ${year})?|${month} ${year}`,
    `(?<=(?<!\\p{L})(?:in|of|since|year|early|late) )${year}(?! ?(?:%|percent|USD|dollars|coins|tokens|transactions|bps))`,
  ];
}

/** A fact as readers find it: its number in the text's citations, and where it is from. */
export const vCitedSource = vSource.pick("id", "name", "url", "observedAt", "says");
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
  "source there (“Bitcoin trades at {f12}, {f13} higher than a day ago”), about as long as $97,250.50 or +1.42 %; put no " +
  "currency, percent sign or scale beside it. To compare two facts of one kind and unit: {f2-f19} prints their " +
  "difference, {f27/f10} their ratio (1.6×), {f10%f11} the first as a share of the second, {f34+f17} their sum. The slot of " +
  "a headline prints it as a quotation. After a statement without a figure, cite its fact: [f12]. Name the coin of every " +
  "figure in its sentence, and say what is meant and over what time. Names and today's date may contain digits. Write no " +
  "other numbers, neither in digits nor in words: no targets, probabilities or records. If no fact has a figure, write " +
  "without one.";
