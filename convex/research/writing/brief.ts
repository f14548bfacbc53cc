import { internal } from "../../_generated/api";
import type { Id } from "../../_generated/dataModel";
import type { ActionCtx } from "../../_generated/server";
import { COLLECTIONS } from "../../market/tables";
import type { Fact, Kind } from "../../lib/facts";
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
import { amountOf, factsOf } from "../../lib/facts";
import { namesOf, type Names } from "../../lib/money/names";
import { MAJORS } from "../../lib/money/tokens";
import { dateTime, roundedNow } from "../../lib/time";
import type { Missing, Path } from "../tables";
import type { Material } from "./material";

/** The material of a report: numbered facts, statements of models, and what is missing. */

/** Names of what the models are asked for. */
const MODELS = { market: "market data", sentiment: "social sentiment", onchain: "on-chain signals" } as const;

export type Brief = {
  focus: string;
  sources: Source[];
  /** The names that a report may mention. */
  names: Names;
  /** Whether there is a price that is not a model's. */
  isPriced: boolean;
  /** What the report begins with, in code's words: how the focus has moved since the shift began. */
  lead: string | null;
  missing: Missing[];
  /** The last report on the same focus, in a line. */
  previous: string | null;
};

/** For each coin that every report covers, in this order. */
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
const OF_THE_MARKET: readonly Kind[] = ["majorsRising", "usdcSupply", "blockTransactions", "baseFee"];
const SEARCHED = 8;
const HEADLINES = 6;
const MOVERS = 8;

/** @param asked `startedAt`: when the shift began, in epoch ms; `null` without a shift. */
export async function gatherBrief(
  ctx: ActionCtx,
  asked: { focus: string; observationIds: Id<"observations">[]; startedAt: number | null },
): Promise<Brief> {
  const args = { ...asked, at: roundedNow() };
  return briefOf(asked.focus, await ctx.runQuery(internal.research.writing.material.material, args));
}

/** Pure. */
export function briefOf(focus: string, material: Material): Brief {
  const { facts, paths, market, previous } = material;
  const coins = [...new Set([...(focus === "" ? [] : [focus]), ...MAJORS])];
  const of = (subject: string, kinds: readonly Kind[]) =>
    kinds.flatMap((kind) => facts.find((fact) => fact.subject === subject && fact.kind === kind) ?? []);
  const chosen = [
    ...coins.flatMap((coin) => of(coin, OF_A_COIN)),
    ...["market", "Base"].flatMap((subject) => of(subject, OF_THE_MARKET)),
    ...facts.filter(({ kind, value }) => kind === "trendingPlace" && Number(value) <= SEARCHED),
    ...facts.filter(({ kind }) => kind === "headline").slice(0, HEADLINES),
  ];
  const sources = counted([
    ...paths.flatMap(pathSources),
    ...chosen.map((fact) => sourceOfFact(fact)),
    ...moverSources(material, coins),
    ...material.whales.map(whaleSource),
    ...persistentSource(material),
    ...modelSources(material),
  ]);
  const movers = (market?.movers ?? []).map(({ symbol: subject, price: value }) => {
    return { subject, kind: "price" as const, value };
  });
  return {
    focus,
    sources,
    names: namesOf([...facts, ...movers]),
    isPriced: facts.some(({ kind }) => kind === "price" || kind === "lastTrade"),
    lead: paths[0] === undefined ? null : `${paths[0].token} since the shift began: {f1}, from {f2} to {f3}.`,
    missing: missingOf(material),
    previous,
  };
}

/** How a token has moved since the shift began, from what, and to what: three facts, of which the first is computed. */
function pathSources({ token: subject, source, url, points }: Path): Uncounted[] {
  const [first, last] = [points[0], points.at(-1)];
  if (first === undefined || last === undefined) return [];
  const value = (last.usd / first.usd - 1) * 100;
  const by = { subject, kind: "price" as const, source, url };
  const moved = { ...by, value, unit: "percent" as const, observedAt: last.at };
  const begun = { ...by, value: first.usd, unit: "USD" as const, observedAt: first.at };
  const now = { ...by, value: last.usd, unit: "USD" as const, observedAt: last.at };
  const when = `(${dateTime(first.at)})`;
  return [
    {
      ...sourceOfFact(moved, "start"),
      says: `${subject} price since the shift began: ${amountOf(value, "percent")}`,
    },
    {
      ...sourceOfFact(begun, "start"),
      says: `${subject} price when the shift began: ${amountOf(first.usd, "USD")} ${when}`,
    },
    sourceOfFact(now),
  ];
}

/** The largest movers of the latest market data: two facts each, measured where a source has them. */
function moverSources({ facts, market }: Material, coins: readonly string[]): Uncounted[] {
  return (market?.movers ?? [])
    .slice(0, MOVERS)
    .filter(({ symbol }) => !coins.includes(symbol))
    .flatMap(({ symbol, price, change24h, source }): Uncounted[] => {
      const isOf = ({ subject, kind }: Fact) =>
        subject === symbol && (kind === "price" || kind === "change24h");
      const measured = facts.filter(isOf);
      const name = source === "model" ? modelNamed("market data") : source;
      const by = { subject: symbol, observedAt: market?.at ?? 0, source: name, url: "" };
      const told = measured.length > 0 ? measured : factsOf(by, { price, change24h });
      return told.map((fact) => sourceOfFact(fact));
    });
}

function whaleSource({
  token: subject,
  words,
  usd: value,
  at: observedAt,
  txHash,
}: Material["whales"][number]) {
  const source = "Base, measured by this service";
  const url = txHash === undefined ? "" : `https://basescan.org/tx/${txHash}`;
  const fact: Fact = { subject, kind: "moved", value, unit: "USD", observedAt, source, url };
  return { ...sourceOfFact(fact), says: `${subject} on Base: ${words}` };
}

function persistentSource({ persistent, cycles, market }: Material): Uncounted[] {
  if (market === null || cycles < 2) return [];
  const listed = persistent.map((one) => `${one.symbol} in ${one.cycles} of ${cycles}`).join(", ");
  const says = `Most persistent trending tokens, by the collections that saw them: ${listed}`;
  return [sourceOfWords({ says, observedAt: market.at, name: "counted by this service" })];
}

/** Statements of a model are a source with the model's name, which a citation shows. */
function modelSources({ sentiment, onchain }: Material): Uncounted[] {
  return [
    ...sentiment.flatMap(({ at, overall, tokens, degraded, citations }) => {
      const name = modelNamed(`social sentiment${degraded ? ", made without a live search" : ""}`);
      const [url = null] = citations;
      const by = { observedAt: at, name, url };
      return [
        sourceOfWords({ ...by, says: `Social sentiment: ${overall}`, words: overall }),
        ...tokens.map(({ token, sentiment: mood, narrative: words }) =>
          sourceOfWords({ ...by, says: `${token} sentiment: ${mood}. ${words}`, words }),
        ),
        ...tokens
          .flatMap(({ token: subject, buzz }) =>
            factsOf({ subject, observedAt: at, source: name, url: url ?? "" }, { buzz }),
          )
          .map((fact) => sourceOfFact(fact)),
      ];
    }),
    ...onchain.flatMap(({ at, summary, signals }) => {
      const by = { observedAt: at, name: modelNamed("on-chain signals") };
      return [
        sourceOfWords({ ...by, says: `On-chain signals: ${summary}`, words: summary }),
        ...signals.map(({ token, kind, direction, detail: words }) =>
          sourceOfWords({ ...by, says: `${token} ${kind}, ${direction}: ${words}`, words }),
        ),
      ];
    }),
  ];
}

/** What there is nothing of, each once, and why. */
function missingOf({ market, sentiment, onchain, missing, absent }: Material): Missing[] {
  const late = "It has not come yet";
  const silent = [
    ...(market === null ? ["market"] : []),
    ...(sentiment.length === 0 ? ["sentiment"] : []),
    ...(onchain.length === 0 ? ["onchain"] : []),
  ];
  const wanted = [...silent.map((collector) => ({ collector, subject: "" })), ...absent];
  return wanted.map(({ collector, subject }) => {
    const told = missing.find((one) => one.collector === collector && one.subject === subject);
    return { collector, subject, reason: told?.reason ?? late };
  });
}

/** The brief as the writer reads it. */
export function describeBrief({ sources, previous, missing }: Brief): string {
  const observed = sources.filter((source) => !isModels(source));
  const statements = sources.filter(isModels);
  return [
    "Facts, observed by this service:",
    ...(observed.length === 0 ? ["none could be collected"] : observed.map(citableLine)),
    ...(statements.length === 0 ? [] : ["Said by language models and observed by nobody; call it reported:"]),
    ...statements.map(citableLine),
    ...(previous === null ? [] : [`The last report on this focus: ${previous}`]),
    ...missing.map((one) => `Missing: ${nameOf(one)}: ${one.reason}`),
  ].join("\n");
}

const NAMES = new Map<string, string>(Object.entries({ ...COLLECTIONS, ...MODELS }));

export function nameOf({ collector, subject }: Pick<Missing, "collector" | "subject">): string {
  const name = NAMES.get(collector) ?? collector;
  return subject === "" ? name : `${name} of ${subject}`;
}
