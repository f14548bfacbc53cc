import { v } from "convex/values";
import { internal } from "../_generated/api";
import { internalMutation } from "../_generated/server";
import { beginRefresh, hashQuestion } from "../platform/cache";
import type { Fact, FactKind } from "../figures/facts";
import { vCaller } from "../platform/limits/callers";
import { MAJORS, COIN_NAMES, type Major } from "../lib/money/coins";
import { SOURCE_NAMES } from "../figures/publicSources";
import { toIso } from "../lib/time";
import { normalizeName } from "./facts";
import type { GatewayList, MarketFigures, MarketSnapshot, TokenFigures } from "./shapes";
import { PRICE_SOURCES, type PriceSource } from "./tables";

/**
 * The market as a view of facts, and its refresh. Gaps are filled from the gateway's list, row by row, and marked as
 * the model's; a row of the list is the same coin as a source's only if both ticker and name match.
 */

const TOP = 20;
const TRENDING = 10;
const KEYS = { BTC: "bitcoin", ETH: "ethereum", SOL: "solana" } as const satisfies Record<Major, string>;

/** A coin as the most trusted source that knows it reports it. */
export type Coin = {
  symbol: string;
  name: string;
  usd: number;
  /** Percent; `null` if unknown. */
  change24h: number | null;
  source: PriceSource;
  /** Epoch ms: when the source observed the price. */
  observedAt: number;
  /** Rank and USD figures in CoinGecko's list of the largest coins; `null` outside it. */
  size: { rank: number; marketCap: number; volume24h: number } | null;
};

/** Every coin that a source knows, by symbol, with the price of the most trusted source. */
export function indexCoins(facts: readonly Fact[]): Map<string, Coin> {
  const coins = new Map<string, Coin>();
  for (const { subject: symbol, observedAt, id } of facts) {
    if (id === undefined || coins.has(symbol)) continue;
    const { name, number } = readListedCoin(symbol, facts);
    const [usd, marketCap, volume24h] = [number("price"), number("marketCap"), number("volume24h")];
    const place = number("rank");
    if (usd === null || marketCap === null || volume24h === null || place === null) continue;
    const size = { rank: place, marketCap, volume24h };
    coins.set(symbol, {
      symbol,
      name,
      usd,
      change24h: number("change24h"),
      source: "coingecko",
      observedAt,
      size,
    });
  }
  for (const symbol of MAJORS) {
    const [quote] = PRICE_SOURCES.flatMap((source) => quoteBy(facts, symbol, source) ?? []);
    if (quote === undefined) continue;
    const { name = COIN_NAMES[symbol][0], size = null, change24h = null } = coins.get(symbol) ?? {};
    coins.set(symbol, { symbol, name, size, change24h, ...quote });
  }
  // A coin that only the exchange lists gets its last trade of the day.
  for (const { subject: symbol, kind, value: usd, observedAt } of facts) {
    if (kind !== "lastTrade" || typeof usd !== "number" || coins.has(symbol)) continue;
    const change = facts.find((one) => one.subject === symbol && one.kind === "dayChange")?.value;
    const change24h = typeof change === "number" ? change : null;
    coins.set(symbol, { symbol, name: symbol, usd, change24h, source: "coinbase", observedAt, size: null });
  }
  return coins;
}

/** A coin's entry in the lists: its name, and its figures by kind. */
function readListedCoin(symbol: string, facts: readonly Fact[]) {
  const ownFacts = facts.filter(({ subject, id }) => subject === symbol && id !== undefined);
  const getValue = (requestedKind: FactKind) => ownFacts.find(({ kind }) => kind === requestedKind)?.value;
  const number = (kind: FactKind) => {
    const value = getValue(kind);
    return typeof value === "number" ? value : null;
  };
  return { name: String(getValue("name") ?? symbol), number };
}

function quoteBy(facts: readonly Fact[], symbol: string, source: PriceSource) {
  const fact = facts.find(
    (one) => one.subject === symbol && one.kind === "price" && one.source === SOURCE_NAMES[source],
  );
  return typeof fact?.value === "number" ? { usd: fact.value, observedAt: fact.observedAt, source } : null;
}

/** The market; `null` if neither the sources nor the list cover it. */
export function buildMarketView(facts: readonly Fact[], list: GatewayList | null): MarketFigures | null {
  const coins = indexCoins(facts);
  const getKeyPrice = (symbol: Major): MarketFigures["keyPrices"]["bitcoin"] | null => {
    const coin = coins.get(symbol);
    const gatewayCoin = list?.keyPrices[KEYS[symbol]];
    const change = coin?.change24h ?? gatewayCoin?.usd_24h_change;
    if (coin !== undefined && change !== undefined)
      return { usd: coin.usd, usd_24h_change: change, source: coin.source };
    return gatewayCoin === undefined ? null : { ...gatewayCoin, source: "model" };
  };
  const [bitcoin, ethereum, solana] = [getKeyPrice("BTC"), getKeyPrice("ETH"), getKeyPrice("SOL")];
  const [trending, top20] = [listTrending(facts, coins, list), listTop(coins, list)];
  if (bitcoin === null || ethereum === null || solana === null) return null;
  if (trending.length === 0 || top20.length < TOP) return null;
  return { keyPrices: { bitcoin, ethereum, solana }, trending, top20 };
}

function listTrending(facts: readonly Fact[], bySymbol: ReadonlyMap<string, Coin>, list: GatewayList | null) {
  const searched = facts
    .filter(({ kind }) => kind === "trendingPlace")
    .sort((a, b) => Number(a.value) - Number(b.value))
    .flatMap(({ subject: symbol }) => {
      const { name, number } = readListedCoin(symbol, facts);
      const change24h = number("trendingChange") ?? number("change24h");
      return change24h === null ? [] : [{ symbol, name, change24h, source: "coingecko" as const }];
    });
  const gatewayCoins = (list?.trending ?? []).map(({ symbol, name, change24h }) => {
    const coin = findSameCoin(bySymbol, { symbol, name });
    return coin === null || coin.change24h === null
      ? { symbol, name, change24h, source: "model" as const }
      : { symbol, name: coin.name, change24h: coin.change24h, source: coin.source };
  });
  const rows = searched.length > 0 ? searched : gatewayCoins;
  return rows.slice(0, TRENDING).map((row, index) => ({ ...row, rank: index + 1 }));
}

function listTop(bySymbol: ReadonlyMap<string, Coin>, list: GatewayList | null): MarketFigures["top20"] {
  const largest = [...bySymbol.values()]
    .flatMap((coin) => (coin.size === null ? [] : [{ ...coin, size: coin.size }]))
    .sort((a, b) => a.size.rank - b.size.rank)
    .flatMap(({ symbol, name, usd: price, change24h, source, size: { marketCap } }) => {
      if (change24h === null) return [];
      return [{ name, symbol, price, change24h, marketCap, source, sizeSource: "coingecko" as const }];
    })
    .slice(0, TOP)
    .map((row, index) => ({ ...row, rank: index + 1 }));
  if (largest.length === TOP || list === null) return largest;
  return list.top20.map((row) => {
    const coin = findSameCoin(bySymbol, row);
    if (coin === null) return { ...row, source: "model", sizeSource: "model" };
    const { usd: price, change24h, source } = coin;
    return { ...row, price, change24h: change24h ?? row.change24h, source, sizeSource: "model" };
  });
}

/** The source's coin that a model means by ticker and name; `null` if another coin has that ticker. */
export function findSameCoin(
  bySymbol: ReadonlyMap<string, Coin>,
  { symbol, name }: { symbol: string; name: string },
): Coin | null {
  const coin = bySymbol.get(symbol);
  const names = coin === undefined ? [] : [coin.name, coin.symbol];
  return coin !== undefined && names.some((one) => normalizeName(one) === normalizeName(name)) ? coin : null;
}

/** The figures of a coin that a source knows; `null` without a change. */
export function getTokenFigures({ symbol, name, usd, change24h, source, size }: Coin): TokenFigures | null {
  if (change24h === null) return null;
  const { marketCap = null, volume24h = null } = size ?? {};
  const sizeSource = size === null ? source : "coingecko";
  return { symbol, name, price: usd, change24h, marketCap, volume24h, source, sizeSource };
}

/** The sources of live prices, each with the time of its oldest. */
export function listPriceSources(facts: readonly Fact[]): MarketSnapshot["sources"] {
  return PRICE_SOURCES.flatMap((source) => {
    const quotes = MAJORS.flatMap((symbol) => quoteBy(facts, symbol, source) ?? []);
    const asOf = Math.min(...quotes.map(({ observedAt }) => observedAt));
    return quotes.length === 0 ? [] : [{ name: source, asOf: toIso(asOf) }];
  });
}

/** The cache key of the answer of `GET /mcp/market` (`platform/cache`). */
export const MARKET_KEY = "market:";

/** The answer, in JSON; `null` if neither the sources nor the list cover the market. */
export function writeSnapshot(facts: readonly Fact[], list: GatewayList | null): string | null {
  const figures = buildMarketView(facts, list);
  if (figures === null) return null;
  const fetchedAt = toIso(Date.now());
  return JSON.stringify({ fetchedAt, ...figures, sources: listPriceSources(facts) } satisfies MarketSnapshot);
}

/**
 * Starts a refresh of the snapshot, or joins the running one. It bypasses the queue of reports: it calls mostly the
 * public sources, and one runs at a time.
 * @throws AppError `rate_limited`, also if too many requests wait or the day's budget is used up.
 */
export const startSnapshotRefresh = internalMutation({
  args: { caller: vCaller },
  returns: v.string(),
  handler: async (ctx, { caller }): Promise<string> =>
    beginRefresh(ctx, { key: MARKET_KEY, caller }, internal.market.actions.renew, {}),
});

/** Starts an answer to a question, or joins the running one. @throws AppError `rate_limited` */
export const beginAnswer = internalMutation({
  args: { question: v.string(), caller: vCaller },
  returns: v.string(),
  handler: async (ctx, { question, caller }): Promise<string> => {
    const options = { key: `token:${hashQuestion(question)}`, caller, queue: "models" as const };
    return beginRefresh(ctx, options, internal.market.actions.writeAnswer, { question });
  },
});
