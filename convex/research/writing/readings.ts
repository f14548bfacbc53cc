import type { Rank, Readings, SourcesKept, SourceStates } from "../shapes";

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

/**
 * Each source's own reading, otherwise its latest stored one since `since` (epoch ms), otherwise nothing; and which of
 * these it is.
 */
export function filledIn(
  current: SourcesKept,
  earlier: readonly SourcesKept[],
  since: number,
): { sources: SourcesKept; states: SourceStates } {
  const of = <Source extends keyof SourceStates>(source: Source) =>
    pick(
      current[source],
      earlier.map((one) => one[source]),
      since,
    );
  const [market, sentiment, onchain] = [of("market"), of("sentiment"), of("onchain")];
  return {
    sources: {
      market: market.reading,
      sentiment: sentiment.reading,
      onchain: onchain.reading,
      facts: current.facts,
    },
    states: { market: market.state, sentiment: sentiment.state, onchain: onchain.state },
  };
}

type Any = { state: "pending" } | { state: "failed"; at: number } | { state: "ok"; at: number };

function pick<Reading extends Any>(
  current: Reading,
  earlier: readonly Reading[],
  since: number,
): { reading: Reading; state: SourceStates["market"] } {
  if (current.state === "ok") return { reading: current, state: { state: "live", asOf: current.at } };
  for (const reading of earlier) {
    if (reading.state === "ok" && reading.at >= since)
      return { reading, state: { state: "earlier", asOf: reading.at } };
  }
  return { reading: current, state: { state: "missing", asOf: null } };
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
