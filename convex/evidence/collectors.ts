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
import { factsOf } from "./kinds";
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

/** What a source does not tell anew before this, a minute unless said, is not asked for again, however young it is wanted; in ms. */
const GOOD_FOR: Partial<Record<Collector, number>> = {
  trending: 5 * MINUTE,
  stablecoins: HOUR,
  news: 15 * MINUTE,
};

export function goodForMs(collector: Collector): number {
  return GOOD_FOR[collector] ?? MINUTE;
}

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
    const { symbol: subject, observedAt, url, name, rank, price, change24h, marketCap, volume24h } = coin;
    const by = { subject, observedAt, source: SOURCE_NAMES.coingecko, url };
    return factsOf(by, { name, rank, price, change24h, marketCap, volume24h });
  });
  const told = coins.filter(({ change24h }) => change24h !== null);
  const observedAt = Math.min(...coins.map((coin) => coin.observedAt));
  const rising = told.filter(({ change24h }) => (change24h ?? 0) > 0).length;
  const by = {
    subject: "market",
    observedAt,
    source: SOURCE_NAMES.coingecko,
    url: "https://www.coingecko.com",
  };
  return [...facts, ...factsOf(by, { rising })];
}

async function collectTrending(ctx: ActionCtx): Promise<Fact[]> {
  const coins = await askTrending(ctx, deadlines.publicData);
  const observedAt = Date.now();
  return coins.flatMap(({ symbol: subject, name, place: trendingPlace, change24h: trendingChange, url }) => {
    const by = { subject, observedAt, source: SOURCE_NAMES.coingecko, url };
    return factsOf(by, { name, trendingPlace, trendingChange });
  });
}

async function collectDay(ctx: ActionCtx, subject: string): Promise<Fact[]> {
  const { source, url, value: day } = await askForDay(ctx, subject, deadlines.publicData);
  const by = { subject, observedAt: day.observedAt, source: SOURCE_NAMES[source], url };
  const { last: lastTrade, open, high: dayHigh, low: dayLow, volume: dayVolume } = day;
  return factsOf(by, { lastTrade, dayChange: (lastTrade / open - 1) * 100, dayHigh, dayLow, dayVolume });
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
  return factsOf(by, { bidDepth: depth.bid, askDepth: depth.ask, spread: depth.spreadBps });
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
  const high48h = Math.max(...candles.map(({ high }) => high));
  const low48h = Math.min(...candles.map(({ low }) => low));
  return factsOf({ subject, observedAt: to, source: name, url }, { high48h, low48h });
}

/** Perpetual markets that reports may speak of: the largest by open interest. */
const PERPETUALS = 60;

async function collectPerpetuals(ctx: ActionCtx): Promise<Fact[]> {
  const markets = await askPerpetuals(ctx, deadlines.publicData);
  const observedAt = Date.now();
  return markets
    .sort((a, b) => b.openInterest - a.openInterest)
    .slice(0, PERPETUALS)
    .flatMap(({ symbol: subject, fundingPercent: funding, openInterest }) => {
      const url = `https://app.hyperliquid.xyz/trade/${subject}`;
      const by = { subject, observedAt, source: SOURCE_NAMES.hyperliquid, url };
      return factsOf(by, { funding, openInterest });
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
      const stablecoinWeek = (supply.now / supply.weekAgo - 1) * 100;
      return factsOf(by, { stablecoinSupply: supply.now, stablecoinWeek });
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
  return articles.flatMap(({ title: headline, url, domain, seenAt: observedAt }) => {
    const source = `${domain}, found by ${SOURCE_NAMES.gdelt}`;
    return factsOf({ subject: subject === "" ? "market" : subject, observedAt, source, url }, { headline });
  });
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
  const { transactions: blockTransactions, baseFee, supply } = state;
  return factsOf(by, { blockTransactions, baseFee, usdcSupply: Number(formatUnits(supply, 6)) });
}
