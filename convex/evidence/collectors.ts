import { internal } from "../_generated/api";
import { USDC } from "../lib/money/base";
import { deadlines } from "../lib/outside/deadlines";
import { AppError, failureOf } from "../lib/errors";
import { formatUnits } from "../lib/money/amounts";
import { SOURCE_NAMES } from "../lib/publicSources";
import { DAY, HOUR, SECOND } from "../lib/time";
import { askMarkets, askTrending } from "../providers/data/coingecko";
import { askStablecoins, STABLECOIN_PAGES } from "../providers/data/defillama";
import { depthWithin } from "../providers/data/exchangeShapes";
import { askForBook, askForCandles, askForDay } from "../providers/data/exchanges";
import { askHeadlines } from "../providers/data/headlines";
import { askPerpetuals } from "../providers/data/hyperliquid";
import type { Asking } from "../providers/data/publicData";
import { risingOf } from "./breadth";
import { factsOf } from "./wordings";
import { isMajor, LISTS, MAJOR_NAMES } from "./model";
import type { Collector, Fact, Wanted } from "./tables";

/** The collectors of facts: each asks one source and says in facts what it said. */

type Collection = (ctx: Asking, subject: string) => Promise<Fact[]>;

const COLLECTIONS: Record<Collector, Collection> = {
  markets: collectMarkets,
  trending: collectTrending,
  listing: collectListing,
  day: collectDay,
  book: collectBook,
  candles: collectCandles,
  perpetuals: collectPerpetuals,
  stablecoins: collectStablecoins,
  news: collectNews,
  base: collectBase,
};

/** How long a turn may have to be waited for: the longest queue of a source that is asked seldom, and of the others. */
const LONG_QUEUE_MS = 50 * SECOND;
const QUEUE_MS = 25 * SECOND;

/** How long a collector may take, the wait for its turn included; in ms. */
export function deadlineOf(collector: Collector): number {
  return collector === "news" ? deadlines.news + LONG_QUEUE_MS : deadlines.publicData + QUEUE_MS;
}

/** @throws AppError `upstream`, `not_found` */
export function collect(ctx: Asking, { collector, subject }: Wanted): Promise<Fact[]> {
  return COLLECTIONS[collector](ctx, subject);
}

/** Who says it, of whom, when and where. */
function saidBy(source: keyof typeof SOURCE_NAMES, subject: string, observedAt: number, url: string) {
  return { subject, observedAt, source: SOURCE_NAMES[source], url };
}

/** So many of the largest coins have facts of their own. */
const LISTED = 50;

async function collectMarkets(ctx: Asking): Promise<Fact[]> {
  const told = await askMarkets(ctx, deadlines.publicData);
  const coins = told.slice(0, LISTED);
  const facts = coins.flatMap((coin): Fact[] => {
    const { symbol: subject, observedAt, url, name, rank, price, change24h, marketCap, volume24h } = coin;
    const told = { name, rank, price, change24h, marketCap, volume24h };
    return factsOf(saidBy("coingecko", subject, observedAt, url), told);
  });
  const observedAt = Math.min(...told.map((coin) => coin.observedAt));
  return [
    ...facts,
    ...factsOf(saidBy("coingecko", "market", observedAt, "https://www.coingecko.com"), {
      rising: risingOf(told),
    }),
  ];
}

async function collectTrending(ctx: Asking): Promise<Fact[]> {
  const coins = await askTrending(ctx, deadlines.publicData);
  const observedAt = Date.now();
  return coins.flatMap(({ symbol: subject, name, place: trendingPlace, change24h: trendingChange, url }) => {
    return factsOf(saidBy("coingecko", subject, observedAt, url), { name, trendingPlace, trendingChange });
  });
}

async function collectDay(ctx: Asking, subject: string): Promise<Fact[]> {
  const { source, url, value: day } = await askForDay(ctx, subject, deadlines.publicData);
  const by = saidBy(source, subject, day.observedAt, url);
  const { last: lastTrade, open, high: dayHigh, low: dayLow, volume: dayVolume } = day;
  return factsOf(by, { lastTrade, dayChange: (lastTrade / open - 1) * 100, dayHigh, dayLow, dayVolume });
}

/** Orders this near the middle price count as depth. */
const DEPTH_SHARE = 0.01;

/** The last trades of a token where an exchange lists it, and nothing where none does. */
async function collectListing(ctx: Asking, subject: string): Promise<Fact[]> {
  try {
    return await collectDay(ctx, subject);
  } catch (error) {
    if (failureOf(error)?.code === "not_found") return [];
    throw error;
  }
}

async function collectBook(ctx: Asking, subject: string): Promise<Fact[]> {
  const { source, url, value: book } = await askForBook(ctx, subject, deadlines.publicData);
  const depth = depthWithin(book, DEPTH_SHARE);
  const name = SOURCE_NAMES[source];
  if (depth === null)
    throw new AppError("upstream", `${name}'s order book does not reach 1 % from the price`);
  return factsOf(saidBy(source, subject, book.observedAt, url), {
    bidDepth: depth.bid,
    askDepth: depth.ask,
    spread: depth.spreadBps,
  });
}

const CANDLE_HOURS = 48;
/** Hours without a trade are missing; with fewer than this there is no range to speak of. */
const FEWEST_HOURS = 40;

async function collectCandles(ctx: Asking, subject: string): Promise<Fact[]> {
  const to = Math.floor(Date.now() / HOUR) * HOUR;
  const range = { interval: "hour", from: to - CANDLE_HOURS * HOUR, to } as const;
  const { source, url, value: candles } = await askForCandles(ctx, subject, range, deadlines.publicData);
  const name = SOURCE_NAMES[source];
  if (candles.length < FEWEST_HOURS) {
    throw new AppError("upstream", `${name} has only ${candles.length} of the last ${CANDLE_HOURS} hours`);
  }
  const high48h = Math.max(...candles.map(({ high }) => high));
  const low48h = Math.min(...candles.map(({ low }) => low));
  return factsOf(saidBy(source, subject, to, url), { high48h, low48h });
}

/** Perpetual markets that reports may speak of: the largest by open interest. */
const PERPETUALS = 60;

async function collectPerpetuals(ctx: Asking): Promise<Fact[]> {
  const markets = await askPerpetuals(ctx, deadlines.publicData);
  const observedAt = Date.now();
  return markets
    .sort((a, b) => b.openInterest - a.openInterest)
    .slice(0, PERPETUALS)
    .flatMap(({ symbol: subject, fundingPercent: funding, openInterest }) => {
      const url = `https://app.hyperliquid.xyz/trade/${subject}`;
      return factsOf(saidBy("hyperliquid", subject, observedAt, url), { funding, openInterest });
    });
}

async function collectStablecoins(ctx: Asking): Promise<Fact[]> {
  const facts = await Promise.all(
    (["all", "Base"] as const).map(async (chain): Promise<Fact[]> => {
      const supply = await askStablecoins(ctx, chain, deadlines.publicData);
      const subject = chain === "all" ? "market" : chain;
      const by = saidBy("defillama", subject, supply.observedAt, STABLECOIN_PAGES[chain]);
      const stablecoinWeek = (supply.now / supply.weekAgo - 1) * 100;
      return factsOf(by, { stablecoinSupply: supply.now, stablecoinWeek });
    }),
  );
  return facts.flat();
}

/** The day's headlines on a coin, or on the whole market. */
async function collectNews(ctx: Asking, subject: string): Promise<Fact[]> {
  const articles = await askHeadlines(ctx, await newsNames(ctx, subject), isMajor(subject));
  return articles.flatMap(({ title: headline, url, by: source, seenAt: observedAt }) =>
    factsOf({ subject: subject === "" ? "market" : subject, observedAt, source, url }, { headline }),
  );
}

/** What the news call a coin, first the name that they are searched for; none for the whole market. */
async function newsNames(ctx: Asking, subject: string): Promise<string[]> {
  if (subject === "") return [];
  if (isMajor(subject)) return [...MAJOR_NAMES[subject], subject];
  const [markets] = LISTS;
  const wanted = { wanted: [markets], withinMs: DAY };
  const { facts } = await ctx.runQuery(internal.evidence.collections.latest, wanted);
  const name = facts.find((fact) => fact.subject === subject && fact.kind === "name")?.value;
  return typeof name === "string" && name.toUpperCase() !== subject ? [name, subject] : [subject];
}

async function collectBase(): Promise<Fact[]> {
  const { readChainState } = await import("../providers/chain/state");
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
