import { internal } from "../_generated/api";
import { USDC } from "../lib/money/base";
import { deadlines } from "../lib/outside/deadlines";
import { AppError, failureOf, messageOf } from "../lib/errors";
import { log } from "../lib/log";
import { formatUnits } from "../lib/money/amounts";
import { SOURCE_NAMES } from "../lib/publicSources";
import { DAY, HOUR, roundedNow, SECOND, unlessLate } from "../lib/time";
import { risingOf } from "../providers/data/breadth";
import { askMarkets, askTrending } from "../providers/data/coingecko";
import { askStablecoins } from "../providers/data/defillama";
import { depthWithin } from "../providers/data/exchangeShapes";
import { askForBook, askForCandles, askForDay } from "../providers/data/exchanges";
import { askHeadlines } from "../providers/data/headlines";
import { askPerpetuals } from "../providers/data/hyperliquid";
import type { Asking } from "../providers/data/publicData";
import { askTicker, QUOTED, TICKERS } from "../providers/data/tickers";
import { factsOf } from "./wordings";
import { LISTS } from "./model";
import { COIN_NAMES, isMajor } from "../lib/money/tokens";
import type { Collector, Fact, Wanted } from "./tables";

/** The collectors of facts: each asks one source and converts its answer to facts. */

type Collection = (ctx: Asking, subject: string) => Promise<Fact[]>;

const COLLECTIONS: Record<Collector, Collection> = {
  quotes: collectQuotes,
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

/** The longest wait for a turn: at a source with rare turns, and at the others. */
const LONG_QUEUE_MS = 50 * SECOND;
const QUEUE_MS = 25 * SECOND;

/** How long a collector may take, including the wait for its turn; in ms. */
export function deadlineOf(collector: Collector): number {
  return collector === "news" ? deadlines.news + LONG_QUEUE_MS : deadlines.publicData + QUEUE_MS;
}

/** @throws AppError `upstream`, `not_found` */
export function collect(ctx: Asking, { collector, subject }: Wanted): Promise<Fact[]> {
  return COLLECTIONS[collector](ctx, subject);
}

/** A source's figures about a subject, as facts. */
function observed(
  source: keyof typeof SOURCE_NAMES,
  { subject, observedAt, url }: Pick<Fact, "subject" | "observedAt" | "url">,
  values: Parameters<typeof factsOf>[1],
): Fact[] {
  return factsOf({ subject, observedAt, source: SOURCE_NAMES[source], url }, values);
}

/** Live prices by every source that answers in time, most trusted first; empty if none does. */
async function collectQuotes(): Promise<Fact[]> {
  const { askFeeds } = await import("../prices/sources");
  const end = AbortSignal.timeout(deadlines.grounding);
  const answers = (["chainlink", ...TICKERS] as const).map(async (source): Promise<Fact[]> => {
    try {
      const asking =
        source === "chainlink"
          ? askFeeds(deadlines.grounding)
          : askTicker(source, QUOTED, deadlines.grounding);
      // A source without a deadline of its own must not delay the others' answers.
      const quotes = await unlessLate(asking, end, () => new Error("It did not answer in time"));
      return QUOTED.flatMap((subject) => {
        const { usd: price = null, change24h = null, observedAt = 0 } = quotes[subject] ?? {};
        return observed(source, { subject, observedAt, url: "" }, { price, change24h });
      });
    } catch (error) {
      log.warn("prices.source failed", { source, reason: messageOf(error) });
      return [];
    }
  });
  return (await Promise.all(answers)).flat();
}

/** How many of the largest coins have facts of their own. */
const LISTED = 50;

async function collectMarkets(ctx: Asking): Promise<Fact[]> {
  const coins = await askMarkets(ctx, deadlines.publicData);
  const observedAt = Math.min(...coins.map((coin) => coin.observedAt));
  const market = { subject: "market", observedAt, url: "https://www.coingecko.com" };
  return [
    ...coins.slice(0, LISTED).flatMap(({ symbol: subject, observedAt, url, ...values }) => {
      return observed("coingecko", { subject, observedAt, url }, values);
    }),
    ...observed("coingecko", market, { rising: risingOf(coins) }),
  ];
}

async function collectTrending(ctx: Asking): Promise<Fact[]> {
  const coins = await askTrending(ctx, deadlines.publicData);
  const observedAt = Date.now();
  return coins.flatMap(({ symbol: subject, name, place: trendingPlace, change24h: trendingChange, url }) =>
    observed("coingecko", { subject, observedAt, url }, { name, trendingPlace, trendingChange }),
  );
}

async function collectDay(ctx: Asking, subject: string): Promise<Fact[]> {
  const { source, url, value } = await askForDay(ctx, subject, deadlines.publicData);
  const { last: lastTrade, open, high: dayHigh, low: dayLow, volume: dayVolume, observedAt } = value;
  const dayChange = (lastTrade / open - 1) * 100;
  return observed(source, { subject, observedAt, url }, { lastTrade, dayChange, dayHigh, dayLow, dayVolume });
}

/** The last trades of a token if an exchange lists it, otherwise nothing. */
async function collectListing(ctx: Asking, subject: string): Promise<Fact[]> {
  try {
    return await collectDay(ctx, subject);
  } catch (error) {
    if (failureOf(error)?.code === "not_found") return [];
    throw error;
  }
}

/** Orders this near the middle price count as depth. */
const DEPTH_SHARE = 0.01;

async function collectBook(ctx: Asking, subject: string): Promise<Fact[]> {
  const { source, url, value: book } = await askForBook(ctx, subject, deadlines.publicData);
  const depth = depthWithin(book, DEPTH_SHARE);
  if (depth !== null) return observed(source, { subject, observedAt: book.observedAt, url }, depth);
  throw new AppError("upstream", `${SOURCE_NAMES[source]}'s order book does not reach 1 % from the price`);
}

const CANDLE_HOURS = 48;
/** Hours without a trade are missing; with fewer than this there is no meaningful range. */
const FEWEST_HOURS = 40;

async function collectCandles(ctx: Asking, subject: string): Promise<Fact[]> {
  const to = Math.floor(Date.now() / HOUR) * HOUR;
  const range = { interval: "hour", from: to - CANDLE_HOURS * HOUR, to } as const;
  const { source, url, value: candles } = await askForCandles(ctx, subject, range, deadlines.publicData);
  if (candles.length < FEWEST_HOURS) {
    const found = `only ${candles.length} of the last ${CANDLE_HOURS} hours`;
    throw new AppError("upstream", `${SOURCE_NAMES[source]} has ${found}`);
  }
  const high48h = Math.max(...candles.map(({ high }) => high));
  const low48h = Math.min(...candles.map(({ low }) => low));
  return observed(source, { subject, observedAt: to, url }, { high48h, low48h });
}

/** The largest perpetual markets, which reports may mention. */
const PERPETUALS = 60;

async function collectPerpetuals(ctx: Asking): Promise<Fact[]> {
  const markets = await askPerpetuals(ctx, deadlines.publicData);
  const observedAt = Date.now();
  return markets
    .slice(0, PERPETUALS)
    .flatMap(({ symbol: subject, fundingPercent: funding, openInterest, url }) =>
      observed("hyperliquid", { subject, observedAt, url }, { funding, openInterest }),
    );
}

async function collectStablecoins(ctx: Asking): Promise<Fact[]> {
  const facts = (["all", "Base"] as const).map(async (chain) => {
    const { now: stablecoinSupply, weekAgo, ...at } = await askStablecoins(ctx, chain, deadlines.publicData);
    const stablecoinWeek = (stablecoinSupply / weekAgo - 1) * 100;
    const subject = chain === "all" ? "market" : chain;
    return observed("defillama", { subject, ...at }, { stablecoinSupply, stablecoinWeek });
  });
  return (await Promise.all(facts)).flat();
}

/** The day's headlines on a coin, or on the whole market. */
async function collectNews(ctx: Asking, subject: string): Promise<Fact[]> {
  const articles = await askHeadlines(ctx, await newsNames(ctx, subject), isMajor(subject));
  return articles.flatMap(({ title: headline, url, by: source, seenAt: observedAt }) =>
    factsOf({ subject: subject === "" ? "market" : subject, observedAt, source, url }, { headline }),
  );
}

/** A coin's names in the news, first the one to search for; none for the whole market. */
async function newsNames(ctx: Asking, subject: string): Promise<string[]> {
  if (subject === "") return [];
  if (isMajor(subject)) return [...COIN_NAMES[subject], subject];
  const [markets] = LISTS;
  const wanted = { wanted: [markets], withinMs: DAY, at: roundedNow() };
  const { facts } = await ctx.runQuery(internal.evidence.collections.latest, wanted);
  const name = facts.find((fact) => fact.subject === subject && fact.kind === "name")?.value;
  return typeof name === "string" && name.toUpperCase() !== subject ? [name, subject] : [subject];
}

async function collectBase(): Promise<Fact[]> {
  const { readChainState } = await import("../providers/chain/blocks");
  const { supply, transactions, baseFee, ...at } = await readChainState(USDC, deadlines.publicData);
  const usdcSupply = Number(formatUnits(supply, 6));
  const figures = { blockTransactions: transactions, baseFee, usdcSupply };
  return factsOf({ subject: "Base", source: "Base, read over RPC", ...at }, figures);
}
