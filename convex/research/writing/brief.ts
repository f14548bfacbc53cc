import { changeSaying, changesBetween, fromSaying, kindOfChange, type Change } from "./changes";
import { computedFacts } from "./comparisons";
import {
  citableLine,
  counted,
  isModels,
  modelNamed,
  sourceOfFact,
  sourceOfWords,
  type Source,
  type Uncounted,
} from "../../evidence/text/sources";
import { COLLECTIONS } from "../../market/tables";
import { factsOf } from "../../lib/facts";
import { MAJORS } from "../../lib/money/tokens";
import { namesOf, type Names } from "../../lib/money/names";
import type { Fact, Kind } from "../../lib/facts";
import type { Missing } from "../../market/tables";
import type { Readings } from "../shapes";

/** The material of a report: numbered facts, changes, statements of models, and what is missing. Pure. */

/** Names of what the models are asked for. */
const MODELS = { market: "market data", sentiment: "social sentiment", onchain: "on-chain signals" };
/** A model without an answer, as a result lists it as missing. */
export type Silent = { collector: keyof typeof MODELS; subject: string; reason: string };

export type Brief = {
  sources: Source[];
  /** The names that a report may mention. */
  names: Names;
  /** Whether there is a price that is not a model's. */
  isPriced: boolean;
  changes: Change[];
  missing: Missing[];
  /** The models without an answer. */
  silent: Silent[];
  /** The last report on the same focus, in a line. */
  previous: string | null;
};

/** The sources' answers, without facts. */
type Statements = Omit<Readings, "facts">;

export type Material = {
  focus: string;
  facts: readonly Fact[];
  /** The facts when the shift began, and when the last report was written; empty if there is none. */
  atStart: readonly Fact[];
  atReport: readonly Fact[];
  readings: Statements;
  previous: string | null;
  missing: Missing[];
};

/** For each coin that every report covers, in this order. */
const OF_A_COIN: readonly Kind[] = [
  "price",
  "change24h",
  "moverPlace",
  "ethBtc",
  "lastTrade",
  "dayChange",
  "dayHigh",
  "toDayHigh",
  "dayLow",
  "toDayLow",
  "high48h",
  "low48h",
  "dayVolume",
  "volume24h",
  "marketCap",
  "rank",
  "bidDepth",
  "askDepth",
  "bidShare",
  "spread",
  "funding",
  "fundingYear",
  "openInterest",
];
const OF_THE_MARKET: readonly Kind[] = ["majorsRising", "usdcSupply", "blockTransactions", "baseFee"];
const SEARCHED = 8;
const HEADLINES = 6;

export function briefOf({ focus, facts, atStart, atReport, readings, previous, missing }: Material): Brief {
  const changes = [
    ...changesBetween(atStart, facts, { since: "start", focus }),
    ...changesBetween(atReport, facts, { since: "report", focus }),
  ];
  const coins = [...new Set([...(focus === "" ? [] : [focus]), ...MAJORS])];
  const all = [...facts, ...computedFacts(facts, coins)];
  const of = (subject: string, kinds: readonly Kind[]) =>
    kinds.flatMap((kind) => all.find((fact) => fact.subject === subject && fact.kind === kind) ?? []);
  const chosen = [
    ...coins.flatMap((coin) => of(coin, OF_A_COIN)),
    ...["market", "Base"].flatMap((subject) => of(subject, OF_THE_MARKET)),
    ...facts.filter(({ kind, value }) => kind === "trendingPlace" && Number(value) <= SEARCHED),
    ...facts.filter(({ kind }) => kind === "headline").slice(0, HEADLINES),
  ];
  const sources = counted([
    ...chosen.map((fact) => sourceOfFact(fact)),
    ...moverSources(readings, facts, coins),
    ...changes.flatMap(changeSources),
    ...persistentSource(readings),
    ...modelSources(readings),
  ]);
  const silent: Silent[] = [
    ...(readings.market === null ? ["market" as const] : []),
    ...(readings.sentiment.length === 0 ? ["sentiment" as const] : []),
    ...(readings.onchain.length === 0 ? ["onchain" as const] : []),
  ].map((collector) => ({ collector, subject: "", reason: "None could be collected" }));
  const movers = readings.movers.map(({ symbol: subject, price: value }) => ({
    subject,
    kind: "price" as const,
    value,
  }));
  const names = namesOf([...facts, ...movers]);
  return { sources, names, isPriced: hasMarketFacts(facts), changes, missing, silent, previous };
}

/** The largest movers of the latest market reading: two facts each, from their source. */
function moverSources(
  { movers, market }: Statements,
  facts: readonly Fact[],
  coins: readonly string[],
): Uncounted[] {
  return movers
    .filter(({ symbol }) => !coins.includes(symbol))
    .flatMap(({ symbol, price, change24h, source }): Uncounted[] => {
      const measured = facts.filter(
        ({ subject, kind }) => subject === symbol && (kind === "price" || kind === "change24h"),
      );
      if (measured.length > 0) return measured.map((fact) => sourceOfFact(fact));
      const name = source === "model" ? modelNamed("market data") : source;
      const by = { subject: symbol, observedAt: market?.at ?? 0, source: name, url: "" };
      return factsOf(by, { price, change24h }).map((fact) => sourceOfFact(fact));
    });
}

/** A change, and its starting value. */
function changeSources(change: Change): Uncounted[] {
  const { subject, since, percent, from, fromAt, toAt } = change;
  const by = { subject, kind: kindOfChange(change), source: "computed by this service", url: "" };
  const moved: Fact = { ...by, value: percent, unit: "percent", observedAt: toAt };
  const begun: Fact = { ...by, value: from, unit: "USD", observedAt: fromAt };
  return [
    { ...sourceOfFact(moved, since), says: changeSaying(change) },
    { ...sourceOfFact(begun, since), says: fromSaying(change) },
  ];
}

function persistentSource({ persistent, cycles, market }: Statements): Uncounted[] {
  if (market === null || cycles < 2) return [];
  const listed = persistent.map((one) => `${one.symbol} in ${one.cycles} of ${cycles}`).join(", ");
  const says = `Most persistent trending tokens, by the collections that saw them: ${listed}`;
  return [sourceOfWords({ says, observedAt: market.at, name: "counted by this service" })];
}

/** Statements of a model are a source with the model's name, which a citation shows. */
function modelSources({ sentiment, onchain }: Statements): Uncounted[] {
  return [
    ...sentiment.flatMap(({ at, output }) => {
      const degraded = output.degraded ? ", made without a live search" : "";
      const [url = null] = output.citations;
      const name = modelNamed(`social sentiment${degraded}`);
      const statements = [
        { says: `Social sentiment: ${output.overall}`, words: output.overall },
        ...output.tokens.map(({ token, sentiment, narrative: words }) => ({
          says: `${token} sentiment: ${sentiment}. ${words}`,
          words,
        })),
      ];
      const buzz = output.tokens.flatMap(({ token: subject, buzz }) =>
        factsOf({ subject, observedAt: at, source: name, url: url ?? "" }, { buzz }),
      );
      return [
        ...statements.map((one) => sourceOfWords({ ...one, observedAt: at, name, url })),
        ...buzz.map((fact) => sourceOfFact(fact)),
      ];
    }),
    ...onchain.flatMap(({ at, output }) => {
      const name = modelNamed("on-chain signals");
      const statements = [
        { says: `On-chain signals: ${output.summary}`, words: output.summary },
        ...output.signals.map(({ token, kind, direction, detail: words }) => ({
          says: `${token} ${kind}, ${direction}: ${words}`,
          words,
        })),
      ];
      return statements.map((one) => sourceOfWords({ ...one, observedAt: at, name }));
    }),
  ];
}

/** The brief as the writer reads it. */
export function describeBrief({ sources, previous, missing, silent }: Brief): string {
  const observed = sources.filter((source) => !isModels(source));
  const statements = sources.filter(isModels);
  return [
    "Facts, observed by this service:",
    ...(observed.length === 0 ? ["none could be collected"] : observed.map(citableLine)),
    ...(statements.length === 0 ? [] : ["Said by language models and observed by nobody; call it reported:"]),
    ...statements.map(citableLine),
    ...(previous === null ? [] : [`The last report on this focus: ${previous}`]),
    ...[...silent, ...missing].map(
      ({ collector, subject, reason }) => `Missing: ${nameOf(collector, subject)}: ${reason}`,
    ),
  ].join("\n");
}

export function nameOf(collector: (Missing | Silent)["collector"], subject: string): string {
  const name = { ...COLLECTIONS, ...MODELS }[collector];
  return subject === "" ? name : `${name} of ${subject}`;
}

/** Whether there is a price to write about. */
function hasMarketFacts(facts: readonly Fact[]): boolean {
  return facts.some(({ kind }) => kind === "price" || kind === "lastTrade");
}
