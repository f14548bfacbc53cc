import {
  citedOf,
  counted,
  sourceOfFact,
  sourceOfWords,
  type CitedSource,
  type Ledger,
  type Source,
} from "../evidence/text/sources";
import { coinsNamed } from "../market/facts";
import { MAJORS } from "../lib/money/tokens";
import { settle } from "../evidence/text/settlement";
import type { Fact, Kind } from "../lib/facts";
import type { Context } from "./context";

/** What an answer may state: numbered facts and this service's own data; every other figure is marked as the model's. Pure. */

const KINDS: readonly Kind[] = [
  "price",
  "lastTrade",
  "change24h",
  "marketCap",
  "volume24h",
  "rank",
  "funding",
  "openInterest",
];
const SEARCHED = 5;
const HEADLINES = 5;
/** How many coins of a question are covered, besides the majors. */
const NAMED = 4;

/** The facts that an answer to this question may cite, and the rest of its context, line by line. */
export function citable(
  question: string,
  facts: readonly Fact[],
  context: Omit<Context, "market">,
  now: number,
): Source[] {
  const named = coinsNamed(question, facts)
    .map(({ symbol }) => symbol)
    .slice(0, NAMED);
  const coins = [...new Set([...named, ...MAJORS])];
  const of = (subject: string, kinds: readonly Kind[]) =>
    kinds.flatMap((kind) => facts.find((fact) => fact.subject === subject && fact.kind === kind) ?? []);
  const observed = [
    ...coins.flatMap((coin) => of(coin, KINDS)),
    ...facts.filter(({ kind, value }) => kind === "trendingPlace" && Number(value) <= SEARCHED),
    ...facts.filter(({ kind }) => kind === "headline").slice(0, HEADLINES),
  ].map((fact) => sourceOfFact(fact));
  const own = (name: string, text: string | null) =>
    (text ?? "")
      .split("\n")
      .filter((line) => line !== "")
      .map((says) => sourceOfWords({ says, observedAt: now, name }));
  return counted([
    ...observed,
    ...own("this service's trading signals", context.signals),
    ...own("movements this service was told of", context.whales),
    ...own("this user's research with this service", context.research),
    ...own("this user's own wallet, read on chain", context.portfolio),
  ]);
}

export type Grounded = {
  answer: string;
  sources: CitedSource[];
  checked: { figures: number; cited: number; unproven: number };
};

/** The answer with its figures printed from facts and its sources named; a figure that is in no fact is marked `[model]`. */
export function groundAnswer(text: string, ledger: Ledger): Grounded {
  const kept: number[] = [];
  const { text: words, figures, leftovers } = settle(text, ledger, { kept, left: "mark" });
  const cited = citedOf(kept, ledger);
  const named = cited.map(({ id, name }) => `[${id}] ${name}`).join(", ");
  const answer = [words, ...(named === "" ? [] : [`Sources: ${named}`])].join("\n\n");
  const unproven = leftovers.length;
  return { answer, sources: cited, checked: { figures: figures + unproven, cited: cited.length, unproven } };
}
