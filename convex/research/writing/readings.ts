import type { Rank, Readings, Sources, SourcesKept } from "../shapes";

/** Combines observations into readings. Pure. */

const MOVERS = 8;
const PERSISTENT = 10;

/** @param ranks The trending coins of each collection, oldest first. */
export function persistentTokens(ranks: readonly (readonly Rank[])[]): Readings["persistent"] {
  const seen = new Map<string, { symbol: string; cycles: number; latestRank: number }>();
  for (const trending of ranks) {
    const latest = new Map(trending.map(({ symbol, rank }) => [symbol, rank]));
    for (const [symbol, latestRank] of latest) {
      seen.set(symbol, { symbol, cycles: (seen.get(symbol)?.cycles ?? 0) + 1, latestRank });
    }
  }
  return [...seen.values()]
    .sort((a, b) => b.cycles - a.cycles || a.latestRank - b.latestRank || (a.symbol < b.symbol ? -1 : 1))
    .slice(0, PERSISTENT);
}

export function moversIn(market: Readings["market"]): Readings["movers"] {
  return market?.output.movers.slice(0, MOVERS) ?? [];
}

/** The readings of one observation. */
export function readingsIn({ market: asked, sentiment, onchain, facts }: Sources): Readings {
  const market = asked.state === "ok" ? { at: asked.at, output: asked.output } : null;
  return {
    persistent: persistentTokens([market?.output.trending ?? []]),
    movers: moversIn(market),
    market,
    sentiment: sentiment.state === "ok" ? [{ at: sentiment.at, output: sentiment.output }] : [],
    onchain: onchain.state === "ok" ? [{ at: onchain.at, output: onchain.output }] : [],
    cycles: 1,
    facts,
  };
}

/** What a new observation starts with: readings since `since` (epoch ms) are not asked for again. */
export function carriedOver(sources: SourcesKept, since: number): SourcesKept {
  const pending = { state: "pending" as const };
  const isGood = (reading: SourcesKept["market" | "sentiment" | "onchain"]) =>
    reading.state === "ok" && reading.at >= since;
  return {
    market: isGood(sources.market) ? sources.market : pending,
    sentiment: isGood(sources.sentiment) ? sources.sentiment : pending,
    onchain: isGood(sources.onchain) ? sources.onchain : pending,
    // The collectors decide themselves what is recent enough.
    facts: pending,
  };
}

export function isSettled(sources: SourcesKept): boolean {
  return Object.values(sources).every(({ state }) => state !== "pending");
}

export function anyFailed(sources: SourcesKept): boolean {
  return Object.values(sources).some(({ state }) => state === "failed");
}

export function anyOk(sources: SourcesKept): boolean {
  return Object.values(sources).some(({ state }) => state === "ok");
}
