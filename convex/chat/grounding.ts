import { checkTogether } from "../evidence/checking";
import {
  citedOf,
  renumbered,
  sourceOfFact,
  sourceOfWords,
  type CitedSource,
  type Ledger,
  type Source,
} from "../evidence/citing";
import { CITATION } from "../evidence/figures";
import { coinsNamed } from "../evidence/lists";
import { MAJORS } from "../evidence/model";
import { sentencesOf } from "../evidence/sentences";
import type { Fact, Kind } from "../evidence/tables";
import type { Context } from "./context";

/** What an answer may state: numbered facts and this service's own words; every other figure is marked as the model's. Pure. */

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
const OF_THE_MARKET: readonly Kind[] = ["rising", "stablecoinSupply", "stablecoinWeek"];
const SEARCHED = 5;
const HEADLINES = 5;
/** Coins that a question names, beside the majors. */
const NAMED = 4;

/** The facts an answer to this question may cite, and what else it is told, line by line. */
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
    ...of("market", OF_THE_MARKET),
    ...facts.filter(({ kind, value }) => kind === "trendingPlace" && Number(value) <= SEARCHED),
    ...facts.filter(({ kind }) => kind === "headline").slice(0, HEADLINES),
  ].map(sourceOfFact);
  const own = (name: string, text: string | null) =>
    (text ?? "")
      .split("\n")
      .filter((line) => line !== "")
      .map((says) => sourceOfWords({ says, observedAt: now, name }));
  return [
    ...observed,
    ...own("this service's trading signals", context.signals),
    ...own("movements this service was told of", context.whales),
    ...own("this user's research with this service", context.research),
    ...own("this user's own wallet, read on chain", context.portfolio),
  ].map((source, index) => ({ ...source, id: index + 1 }));
}

export type Grounded = {
  answer: string;
  sources: CitedSource[];
  checked: { figures: number; cited: number; unproven: number };
};

/** Marks a sentence whose figures nobody observed. */
const MARK = "[model]";

/** The answer with its citations counted from one and its sources named; what no fact says is marked. */
export function groundAnswer(text: string, ledger: Ledger<Source>): Grounded {
  const kept: number[] = [];
  let [figures, unproven] = [0, 0];
  const lines = text.split("\n").map((line) => ({ line, sentences: sentencesOf(line) }));
  const checked = checkTogether(
    lines.flatMap(({ sentences }) => sentences),
    ledger,
  ).values();
  const marked = lines.map(({ line, sentences }) => {
    const indent = /^\s*/.exec(line)?.[0] ?? "";
    const shown = sentences.map((sentence) => {
      const { value } = checked.next();
      figures += value?.figures ?? 0;
      const problems = value?.problems.length ?? 0;
      if (problems === 0) return renumbered(sentence, kept);
      unproven += problems;
      return `${sentence.replace(CITATION, "").replaceAll(" .", ".").trim()} ${MARK}`;
    });
    return indent + shown.join(" ");
  });
  const cited = citedOf(kept, ledger);
  const named = cited.map(({ id, name }) => `[${id}] ${name}`).join(", ");
  const answer = [marked.join("\n"), ...(named === "" ? [] : [`Sources: ${named}`])].join("\n\n");
  return { answer, sources: cited, checked: { figures, cited: cited.length, unproven } };
}
