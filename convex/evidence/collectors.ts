import type { ActionCtx } from "../_generated/server";
import { USDC } from "../lib/base";
import { deadlines } from "../lib/deadlines";
import { AppError } from "../lib/errors";
import { formatUnits } from "../lib/money";
import { SOURCE_NAMES } from "../lib/publicSources";
import { HOUR, MINUTE, SECOND } from "../lib/time";
import { askMarkets, askTrending } from "../providers/coingecko";
import { askStablecoins, STABLECOIN_PAGES } from "../providers/defillama";
import { depthWithin } from "../providers/exchangeShapes";
import { askForBook, askForCandles, askForDay } from "../providers/exchanges";
import { askNews } from "../providers/gdelt";
import { askPerpetuals } from "../providers/hyperliquid";
import { MAJOR_NAMES } from "./model";
import type { Collector, Fact, Wanted } from "./tables";

/** The collectors of facts: each asks one source and says in facts what it said. */

type Collection = (ctx: ActionCtx, subject: string) => Promise<Fact[]>;

const COLLECTIONS: Record<Collector, Collection> = {
  markets: collectMarkets,
  trending: collectTrending,
  day: collectDay,
  book: collectBook,
  candles: collectCandles,
  perpetuals: collectPerpetuals,
  stablecoins: collectStablecoins,
  news: collectNews,
  base: collectBase,
};

/** What a source does not tell anew before this is not asked for again, however young it is wanted; in ms. */
export const GOOD_FOR: Record<Collector, number> = {
  markets: MINUTE,
  trending: 5 * MINUTE,
  day: MINUTE,
  book: MINUTE,
  candles: MINUTE,
  perpetuals: MINUTE,
  stablecoins: HOUR,
  news: 15 * MINUTE,
  base: MINUTE,
};

/** How long a turn may have to be waited for: the longest queue of a source that is asked seldom, and of the others. */
const LONG_QUEUE_MS = 50 * SECOND;
const QUEUE_MS = 25 * SECOND;

/** How long a collector may take, the wait for its turn included; in ms. */
export function deadlineOf(collector: Collector): number {
  return collector === "news" ? deadlines.news + LONG_QUEUE_MS : deadlines.publicData + QUEUE_MS;
}

/** @throws AppError `upstream`, `not_found` */
export function collect(ctx: ActionCtx, { collector, subject }: Wanted): Promise<Fact[]> {
  return COLLECTIONS[collector](ctx, subject);
}

async function collectMarkets(ctx: ActionCtx): Promise<Fact[]> {
  const coins = await askMarkets(ctx, deadlines.publicData);
  const facts = coins.flatMap((coin): Fact[] => {
    const { symbol: subject, observedAt, url, change24h } = coin;
    const by = { subject, observedAt, source: SOURCE_NAMES.coingecko, url };
    return [
      { ...by, kind: "name", value: coin.name, unit: "text" },
      { ...by, kind: "rank", value: coin.rank, unit: "count" },
      { ...by, kind: "price", value: coin.price, unit: "USD" },
      ...(change24h === null
        ? []
        : [{ ...by, kind: "change24h" as const, value: change24h, unit: "percent" as const }]),
      { ...by, kind: "marketCap", value: coin.marketCap, unit: "USD" },
      { ...by, kind: "volume24h", value: coin.volume24h, unit: "USD" },
    ];
  });
  const told = coins.filter(({ change24h }) => change24h !== null);
  const observedAt = Math.min(...coins.map((coin) => coin.observedAt));
  const rising: Fact = {
    subject: "market",
    kind: "rising",
    value: told.filter(({ change24h }) => (change24h ?? 0) > 0).length,
    unit: "count",
    observedAt,
    source: SOURCE_NAMES.coingecko,
    url: "https://www.coingecko.com",
  };
  return [...facts, rising];
}

async function collectTrending(ctx: ActionCtx): Promise<Fact[]> {
  const coins = await askTrending(ctx, deadlines.publicData);
  const observedAt = Date.now();
  return coins.flatMap(({ symbol: subject, name, place, change24h, url }): Fact[] => {
    const by = { subject, observedAt, source: SOURCE_NAMES.coingecko, url };
    return [
      { ...by, kind: "name", value: name, unit: "text" },
      { ...by, kind: "trendingPlace", value: place, unit: "count" },
      ...(change24h === null
        ? []
        : [{ ...by, kind: "trendingChange" as const, value: change24h, unit: "percent" as const }]),
    ];
  });
}

async function collectDay(ctx: ActionCtx, subject: string): Promise<Fact[]> {
  const { source, url, value: day } = await askForDay(ctx, subject, deadlines.publicData);
  const by = { subject, observedAt: day.observedAt, source: SOURCE_NAMES[source], url };
  return [
    { ...by, kind: "lastTrade", value: day.last, unit: "USD" },
    { ...by, kind: "dayChange", value: (day.last / day.open - 1) * 100, unit: "percent" },
    { ...by, kind: "dayHigh", value: day.high, unit: "USD" },
    { ...by, kind: "dayLow", value: day.low, unit: "USD" },
    { ...by, kind: "dayVolume", value: day.volume, unit: "coins" },
  ];
}

/** Orders this near the middle price count as depth. */
const DEPTH_SHARE = 0.01;

async function collectBook(ctx: ActionCtx, subject: string): Promise<Fact[]> {
  const { source, url, value: book } = await askForBook(ctx, subject, deadlines.publicData);
  const depth = depthWithin(book, DEPTH_SHARE);
  const name = SOURCE_NAMES[source];
  if (depth === null)
    throw new AppError("upstream", `${name}'s order book does not reach 1 % from the price`);
  const by = { subject, observedAt: book.observedAt, source: name, url };
  return [
    { ...by, kind: "bidDepth", value: depth.bid, unit: "USD" },
    { ...by, kind: "askDepth", value: depth.ask, unit: "USD" },
    { ...by, kind: "spread", value: depth.spreadBps, unit: "bps" },
  ];
}

const CANDLE_HOURS = 48;
/** Hours without a trade are missing; with fewer than this there is no range to speak of. */
const FEWEST_HOURS = 40;

async function collectCandles(ctx: ActionCtx, subject: string): Promise<Fact[]> {
  const to = Math.floor(Date.now() / HOUR) * HOUR;
  const range = { interval: "hour", from: to - CANDLE_HOURS * HOUR, to } as const;
  const { source, url, value: candles } = await askForCandles(ctx, subject, range, deadlines.publicData);
  const name = SOURCE_NAMES[source];
  if (candles.length < FEWEST_HOURS) {
    throw new AppError("upstream", `${name} has only ${candles.length} of the last ${CANDLE_HOURS} hours`);
  }
  const by = { subject, observedAt: to, source: name, url, unit: "USD" as const };
  return [
    { ...by, kind: "high48h", value: Math.max(...candles.map(({ high }) => high)) },
    { ...by, kind: "low48h", value: Math.min(...candles.map(({ low }) => low)) },
  ];
}

/** Perpetual markets that reports may speak of: the largest by open interest. */
const PERPETUALS = 60;

async function collectPerpetuals(ctx: ActionCtx): Promise<Fact[]> {
  const markets = await askPerpetuals(ctx, deadlines.publicData);
  const observedAt = Date.now();
  return markets
    .sort((a, b) => b.openInterest - a.openInterest)
    .slice(0, PERPETUALS)
    .flatMap(({ symbol: subject, fundingPercent, openInterest }): Fact[] => {
      const url = `https://app.hyperliquid.xyz/trade/${subject}`;
      const by = { subject, observedAt, source: SOURCE_NAMES.hyperliquid, url };
      return [
        { ...by, kind: "funding", value: fundingPercent, unit: "percent" },
        { ...by, kind: "openInterest", value: openInterest, unit: "USD" },
      ];
    });
}

async function collectStablecoins(ctx: ActionCtx): Promise<Fact[]> {
  const facts = await Promise.all(
    (["all", "Base"] as const).map(async (chain): Promise<Fact[]> => {
      const supply = await askStablecoins(ctx, chain, deadlines.publicData);
      const by = {
        subject: chain === "all" ? "market" : chain,
        observedAt: supply.observedAt,
        source: SOURCE_NAMES.defillama,
        url: STABLECOIN_PAGES[chain],
      };
      return [
        { ...by, kind: "stablecoinSupply", value: supply.now, unit: "USD" },
        { ...by, kind: "stablecoinWeek", value: (supply.now / supply.weekAgo - 1) * 100, unit: "percent" },
      ];
    }),
  );
  return facts.flat();
}

/** Under what names the news speak of the coins whose symbols are words of their own. */
const NEWS_NAMES: Readonly<Record<string, string>> = {
  "": "cryptocurrency",
  ...Object.fromEntries(Object.entries(MAJOR_NAMES).map(([symbol, [name]]) => [symbol, name.toLowerCase()])),
};

async function collectNews(ctx: ActionCtx, subject: string): Promise<Fact[]> {
  const name = NEWS_NAMES[subject] ?? subject;
  const query = NEWS_NAMES[subject] === undefined ? `"${name}" (crypto OR cryptocurrency)` : `"${name}"`;
  const articles = await askNews(ctx, query, deadlines.news);
  return articles.map(({ title, url, domain, seenAt }) => ({
    subject: subject === "" ? "market" : subject,
    kind: "headline",
    value: title,
    unit: "text",
    observedAt: seenAt,
    source: `${domain}, found by ${SOURCE_NAMES.gdelt}`,
    url,
  }));
}

async function collectBase(): Promise<Fact[]> {
  const { readChainState } = await import("../providers/chainState");
  const state = await readChainState(USDC, deadlines.publicData);
  const by = {
    subject: "Base",
    observedAt: state.observedAt,
    source: "Base, read over RPC",
    url: `https://basescan.org/block/${state.block}`,
  };
  return [
    { ...by, kind: "blockTransactions", value: state.transactions, unit: "count" },
    { ...by, kind: "baseFee", value: state.baseFee, unit: "gwei" },
    { ...by, kind: "usdcSupply", value: Number(formatUnits(state.supply, 6)), unit: "USD" },
  ];
}
