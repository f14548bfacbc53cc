import type { MarketOutput, OnchainOutput, SentimentOutput, Settled, Sources } from "../shapes";

/** From observations to what they say together. All pure. */

export type Readings = {
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
export function readingsOf(observations: readonly Sources[]): Readings {
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

function persistentTokens(markets: readonly MarketOutput[]): Readings["persistent"] {
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

/** What a new observation begins with: the readings since `since` (epoch ms) need no second asking. */
export function carriedOver(sources: Sources, since: number): Sources {
  const pending = { state: "pending" as const };
  const isGood = (reading: Sources["market" | "sentiment" | "onchain"]) =>
    reading.state === "ok" && reading.at >= since;
  return {
    market: isGood(sources.market) ? sources.market : pending,
    sentiment: isGood(sources.sentiment) ? sources.sentiment : pending,
    onchain: isGood(sources.onchain) ? sources.onchain : pending,
    // The collectors know themselves what is young enough.
    facts: pending,
  };
}

/** The sources of an observation with one more settled. A source that already settled keeps its first outcome. */
export function withSettled(sources: Sources, settled: Settled): Sources {
  if (sources[settled.source].state !== "pending") return sources;
  return { ...sources, [settled.source]: settled.reading };
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
