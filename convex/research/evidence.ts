import { iso } from "../lib/time";
import type { MarketOutput, OnchainOutput, SentimentOutput, Settled, Sources } from "./tables";

/** From observations to what a report is written from. All pure. */

export type Reading<Source extends keyof Sources> = Extract<Sources[Source], { state: "ok" }>;

export type Evidence = {
  /** Symbols seen in the most collections, most persistent first. */
  persistent: { symbol: string; cycles: number; latestRank: number }[];
  /** The largest 24-hour moves of the latest market reading. */
  movers: MarketOutput["movers"];
  market: { at: number; output: MarketOutput } | null;
  /** The last two readings, oldest first. */
  sentiment: { at: number; output: SentimentOutput }[];
  onchain: { at: number; output: OnchainOutput }[];
  cycles: number;
};

const MOVERS = 8;
const PERSISTENT = 10;
const LAST_CYCLES = 2;

/** @param observations The sources of each collection, oldest first; failed sources simply contribute nothing. */
export function gatherEvidence(observations: readonly Sources[]): Evidence {
  const markets = observations.flatMap(({ market }) => (market.state === "ok" ? [market] : []));
  const sentiments = observations.flatMap(({ sentiment }) => (sentiment.state === "ok" ? [sentiment] : []));
  const onchains = observations.flatMap(({ onchain }) => (onchain.state === "ok" ? [onchain] : []));
  const latest = markets.at(-1);
  return {
    persistent: persistentTokens(markets.map(({ output }) => output)),
    movers: latest?.output.movers.slice(0, MOVERS) ?? [],
    market: latest === undefined ? null : { at: latest.at, output: latest.output },
    sentiment: sentiments.slice(-LAST_CYCLES).map(({ at, output }) => ({ at, output })),
    onchain: onchains.slice(-LAST_CYCLES).map(({ at, output }) => ({ at, output })),
    cycles: observations.length,
  };
}

export function isEmpty({ market, sentiment, onchain }: Evidence): boolean {
  return market === null && sentiment.length === 0 && onchain.length === 0;
}

function persistentTokens(markets: readonly MarketOutput[]): Evidence["persistent"] {
  const seen = new Map<string, { symbol: string; cycles: number; latestRank: number }>();
  for (const { trending } of markets) {
    const ranks = new Map(trending.map((coin) => [coin.symbol, coin.rank]));
    for (const [symbol, latestRank] of ranks) {
      seen.set(symbol, { symbol, cycles: (seen.get(symbol)?.cycles ?? 0) + 1, latestRank });
    }
  }
  return [...seen.values()]
    .sort((a, b) => b.cycles - a.cycles || a.latestRank - b.latestRank || (a.symbol < b.symbol ? -1 : 1))
    .slice(0, PERSISTENT);
}

/** The evidence as a prompt reads it. Missing parts are named, so that the analyst can say so. */
export function describeEvidence(evidence: Evidence): string {
  const lines: string[] = [];
  if (evidence.market === null) lines.push("Market data: none could be collected.");
  else {
    lines.push(`Market as of ${iso(evidence.market.at)}: ${evidence.market.output.keyPrices}`);
    if (evidence.market.output.focus !== null) lines.push(`Focus figures: ${evidence.market.output.focus}`);
    const persistent = evidence.persistent.map(
      ({ symbol, cycles }) => `${symbol} (${cycles}/${evidence.cycles})`,
    );
    lines.push(`Most persistent trending tokens (collections seen in): ${persistent.join(", ")}`);
    const movers = evidence.movers.map(
      ({ symbol, price, change24h }) => `${symbol} $${price} (${change24h} %)`,
    );
    lines.push(`Latest movers over 24 hours: ${movers.join(", ")}`);
  }
  if (evidence.sentiment.length === 0) lines.push("Social sentiment: none could be collected.");
  for (const { at, output } of evidence.sentiment) {
    const degraded = output.degraded ? " (degraded: made without a live search)" : "";
    lines.push(`Social sentiment at ${iso(at)}${degraded}: ${output.overall}`);
    for (const one of output.tokens) {
      lines.push(`- ${one.token}: ${one.sentiment}, buzz ${one.buzz}/10. ${one.narrative}`);
    }
  }
  if (evidence.onchain.length === 0) lines.push("On-chain signals: none could be collected.");
  for (const { at, output } of evidence.onchain) {
    lines.push(`On-chain signals at ${iso(at)}: ${output.summary}`);
    for (const one of output.signals) {
      lines.push(`- ${one.token}: ${one.kind}, ${one.direction}. ${one.detail}`);
    }
  }
  return lines.join("\n");
}

/** What a new observation begins with: the readings since `since` (epoch ms) need no second asking. */
export function carriedOver(sources: Sources, since: number): Sources {
  const pending = { state: "pending" as const };
  const isGood = (reading: Sources[keyof Sources]) => reading.state === "ok" && reading.at >= since;
  return {
    market: isGood(sources.market) ? sources.market : pending,
    sentiment: isGood(sources.sentiment) ? sources.sentiment : pending,
    onchain: isGood(sources.onchain) ? sources.onchain : pending,
  };
}

/** The sources of an observation with one more settled. A source that already settled keeps its first outcome. */
export function withSettled(sources: Sources, settled: Settled): Sources {
  if (sources[settled.source].state !== "pending") return sources;
  switch (settled.source) {
    case "market":
      return { ...sources, market: settled.reading };
    case "sentiment":
      return { ...sources, sentiment: settled.reading };
    case "onchain":
      return { ...sources, onchain: settled.reading };
  }
}

export function isSettled(sources: Sources): boolean {
  return Object.values(sources).every(({ state }) => state !== "pending");
}

export function anyFailed(sources: Sources): boolean {
  return Object.values(sources).some(({ state }) => state === "failed");
}

export function anyOk(sources: Sources): boolean {
  return Object.values(sources).some(({ state }) => state === "ok");
}
