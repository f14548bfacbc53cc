import type { Change } from "../evidence/changes";
import { changeSaying, changesBetween, kindOfChange } from "../evidence/changes";
import { citableLine, sourceOfFact, sourceOfWords, type Source, type Uncounted } from "../evidence/citing";
import { COLLECTIONS, factsOf } from "../evidence/kinds";
import { MAJORS } from "../evidence/model";
import { namesOf, type Names } from "../evidence/names";
import type { Fact, Kind, Missing } from "../evidence/tables";
import type { Readings } from "./readings";

/** What a report is written from: facts by number, what changed, what only models say, and what is missing. Pure. */

export type Brief = {
  sources: Source[];
  /** Whom a report may speak of. */
  names: Names;
  /** Whether anybody but a model has seen a price. */
  isPriced: boolean;
  changes: Change[];
  missing: Missing[];
  /** The models that said nothing. */
  silent: string[];
  /** The last report on the same focus, in a line. */
  previous: string | null;
};

export type Material = {
  focus: string;
  facts: readonly Fact[];
  /** What was so when the shift began, and when the last report was written; empty where there is none. */
  atStart: readonly Fact[];
  atReport: readonly Fact[];
  readings: Readings;
  previous: string | null;
  missing: Missing[];
};

/** Of each coin that every report speaks of, in this order. */
const OF_A_COIN: readonly Kind[] = [
  "price",
  "change24h",
  "lastTrade",
  "dayChange",
  "dayHigh",
  "dayLow",
  "high48h",
  "low48h",
  "dayVolume",
  "volume24h",
  "marketCap",
  "rank",
  "bidDepth",
  "askDepth",
  "spread",
  "funding",
  "openInterest",
];
const OF_THE_MARKET: readonly Kind[] = [
  "rising",
  "stablecoinSupply",
  "stablecoinWeek",
  "usdcSupply",
  "blockTransactions",
  "baseFee",
];
const SEARCHED = 8;
const HEADLINES = 6;

export function briefOf({ focus, facts, atStart, atReport, readings, previous, missing }: Material): Brief {
  const changes = [
    ...changesBetween(atStart, facts, { since: "start", focus }),
    ...changesBetween(atReport, facts, { since: "report", focus }),
  ];
  const coins = [...new Set([...(focus === "" ? [] : [focus]), ...MAJORS])];
  const of = (subject: string, kinds: readonly Kind[]) =>
    kinds.flatMap((kind) => facts.find((fact) => fact.subject === subject && fact.kind === kind) ?? []);
  const chosen = [
    ...coins.flatMap((coin) => of(coin, OF_A_COIN)),
    ...["market", "Base"].flatMap((subject) => of(subject, OF_THE_MARKET)),
    ...facts.filter(({ kind, value }) => kind === "trendingPlace" && Number(value) <= SEARCHED),
    ...facts.filter(({ kind }) => kind === "headline").slice(0, HEADLINES),
  ];
  const uncounted = [
    ...chosen.map(sourceOfFact),
    ...moverSources(readings, facts, coins),
    ...changes.map((change) => changeSource(change)),
    ...persistentSource(readings),
    ...modelSources(readings),
  ];
  const sources = uncounted.map((source, index) => ({ ...source, id: index + 1 }));
  const silent = [
    ...(readings.sentiment.length === 0 ? ["Social sentiment"] : []),
    ...(readings.onchain.length === 0 ? ["On-chain signals"] : []),
  ];
  const movers = readings.movers.map(({ symbol: subject, price: value }) => ({
    subject,
    kind: "price" as const,
    value,
  }));
  const names = namesOf([...facts, ...movers]);
  return { sources, names, isPriced: hasMarketFacts(facts), changes, missing, silent, previous };
}

/** The largest movers of the latest market reading: two facts each, of the source that tells them. */
function moverSources(
  { movers, market }: Readings,
  facts: readonly Fact[],
  coins: readonly string[],
): Uncounted[] {
  return movers
    .filter(({ symbol }) => !coins.includes(symbol))
    .flatMap(({ symbol, price, change24h, source }): Uncounted[] => {
      const told = facts.filter(
        ({ subject, kind }) => subject === symbol && (kind === "price" || kind === "change24h"),
      );
      if (told.length > 0) return told.map(sourceOfFact);
      const name = source === "model" ? modelNamed("market data") : source;
      const by = { subject: symbol, observedAt: market?.at ?? 0, source: name, url: "" };
      return factsOf(by, { price, change24h }).map((fact) => ({ ...sourceOfFact(fact), url: null }));
    });
}

function changeSource(change: Change): Uncounted {
  const { subject, since, percent: value, toAt: observedAt } = change;
  const name = "computed by this service from the facts of both times";
  const says = changeSaying(change);
  return {
    says,
    value,
    unit: "percent",
    about: { subject, kind: kindOfChange(change), since, source: name },
    observedAt,
    name,
    url: null,
  };
}

function persistentSource({ persistent, cycles, market }: Readings): Uncounted[] {
  if (market === null || cycles < 2) return [];
  const listed = persistent.map((one) => `${one.symbol} in ${one.cycles} of ${cycles}`).join(", ");
  const says = `Most persistent trending tokens, by the collections that saw them: ${listed}`;
  return [sourceOfWords({ says, observedAt: market.at, name: "counted by this service" })];
}

/** What only a model says is a source of its own name: who cites it says so. */
function modelSources({ sentiment, onchain }: Readings): Uncounted[] {
  return [
    ...sentiment.flatMap(({ at, output }) => {
      const degraded = output.degraded ? ", made without a live search" : "";
      const [url = null] = output.citations;
      const said = [
        `Social sentiment: ${output.overall}`,
        ...output.tokens.map(
          (one) => `${one.token} sentiment: ${one.sentiment}, buzz ${one.buzz}/10. ${one.narrative}`,
        ),
      ];
      const name = modelNamed(`social sentiment${degraded}`);
      return said.map((says) => sourceOfWords({ says, observedAt: at, name, url }));
    }),
    ...onchain.flatMap(({ at, output }) => {
      const said = [
        `On-chain signals: ${output.summary}`,
        ...output.signals.map((one) => `${one.token} ${one.kind}, ${one.direction}: ${one.detail}`),
      ];
      return said.map((says) =>
        sourceOfWords({ says, observedAt: at, name: modelNamed("on-chain signals") }),
      );
    }),
  ];
}

const MODEL = "said by a language model";

/** What a source is called that is a model's word alone. */
const modelNamed = (what: string): string => `${what}, ${MODEL}, unverified`;

export function isModels({ name }: Pick<Source, "name">): boolean {
  return name.includes(MODEL);
}

/** The brief as the writer reads it. */
export function describeBrief({ sources, previous, missing, silent }: Brief): string {
  const observed = sources.filter((source) => !isModels(source));
  const told = sources.filter(isModels);
  return [
    "Facts, observed by this service:",
    ...(observed.length === 0 ? ["none could be collected"] : observed.map(citableLine)),
    ...(told.length === 0 ? [] : ["Said by language models and observed by nobody; call it reported:"]),
    ...told.map(citableLine),
    ...(previous === null ? [] : [`The last report on this focus: ${previous}`]),
    ...silent.map((what) => `Missing: ${what}: none could be collected`),
    ...missing.map(({ collector, subject, reason }) => `Missing: ${nameOf(collector, subject)}: ${reason}`),
  ].join("\n");
}

export function nameOf(collector: Missing["collector"], subject: string): string {
  return subject === "" ? COLLECTIONS[collector] : `${COLLECTIONS[collector]} of ${subject}`;
}

/** Whether there is a price to write of. */
function hasMarketFacts(facts: readonly Fact[]): boolean {
  return facts.some(({ kind }) => kind === "price" || kind === "lastTrade");
}
