import type { Infer } from "convex/values";
import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { AppError, getErrorData, getErrorMessage } from "../lib/errors";
import { buildFacts, type Fact } from "../figures/facts";
import { log } from "../lib/log";
import { formatUnits } from "../lib/money/amounts";
import { USDC } from "../lib/money/base";
import { MAJORS } from "../lib/money/coins";
import { findCoins, indexNames } from "../figures/mentions";
import { listKeys } from "../lib/objects";
import { batchCalls, limitSourceRate, type WaitTurn } from "../providers/data/publicData";
import { deadlines } from "../platform/outside/deadlines";
import { SOURCE_NAMES } from "../figures/publicSources";
import { awaitRefreshes } from "../platform/refreshes";
import { DAY, HOUR, getRoundedNow, rejectWhenLate } from "../lib/time";
import { askCandles, askDay, askDepth, getCoinbasePage } from "../providers/data/coinbase";
import { askCoins, askTrending, getCoinPage } from "../providers/data/coingecko";
import { askHeadlines } from "../providers/data/headlines";
import { askPerpetuals } from "../providers/data/hyperliquid";
import { encodeFacts, LISTS, type vOutcome } from "./facts";
import { ASK_SOURCE } from "./live";
import { computeDayChange, type vNewestPrice } from "./samples";
import type { Collector, MissingCollection, CollectionRequest, PriceSource } from "./tables";

/**
 * Collects facts, single-flight by collector and subject (`platform/cache`). Each collector asks one source and converts
 * its answer to facts.
 */

/** Collections that end within this time of each other are stored together. */
const STORED_TOGETHER_MS = 100;

type Outcome = Infer<typeof vOutcome>;

/**
 * Ensures that the facts of these collections are at most `freshMs` old (their own, if they have one): collects those that
 * no other caller is collecting, and waits for the others. Never throws for a source's failure.
 * @param waitMs Later answers count as missing, and their source gets a cooldown of a minute.
 * @returns The failed collections, with the reasons.
 */
export async function collectFacts(
  ctx: ActionCtx,
  requested: readonly (CollectionRequest & { freshMs?: number })[],
  { freshMs, waitMs = deadlines.publicData }: { freshMs: number; waitMs?: number },
): Promise<MissingCollection[]> {
  const end = () => AbortSignal.timeout(waitMs);
  const { mine, others } = await ctx.runMutation(internal.market.facts.claimCollections, {
    requested: requested.map((one) => ({ freshMs, ...one })),
  });
  const waitTurn = limitSourceRate(ctx);
  const store = batchCalls(async (outcomes: Outcome[]) => {
    await ctx.runMutation(internal.market.facts.storeFacts, { outcomes });
    return outcomes;
  }, STORED_TOGETHER_MS);
  const collectOwn = async (claim: CollectionRequest): Promise<string | null> => {
    const { collector, subject } = claim;
    const result = await orReason(rejectWhenLate(COLLECTORS[collector](waitTurn, subject, ctx), end(), late));
    await store(toOutcome(claim, result));
    const reason = typeof result === "string" ? result : result.length === 0 ? "No source has it" : null;
    if (typeof result === "string") log.warn("facts.missing", { collector, subject, reason });
    return reason;
  };
  const awaitOthers = async (): Promise<MissingCollection[]> => {
    if (others.length === 0) return [];
    const outcomes = await awaitRefreshes(
      ctx,
      others.map(({ key }) => key),
      end(),
    );
    return others.flatMap(({ collector, subject }, index) => {
      const outcome = outcomes[index] ?? { error: late().message };
      return outcome.error === undefined ? [] : [{ collector, subject, reason: outcome.error }];
    });
  };
  const missing = async ({ collector, subject }: CollectionRequest, reason: Promise<string | null>) => {
    const why = await reason;
    return why === null ? [] : [{ collector, subject, reason: why }];
  };
  const all = [...mine.map((one) => missing(one, collectOwn(one))), awaitOthers()];
  return (await Promise.all(all)).flat();
}

/** Collects claimed lists of coins whose turns have been taken. @param newest The newest samples. */
export async function collectLists(
  claims: readonly CollectionRequest[],
  newest: Infer<typeof vNewestPrice>[],
): Promise<Outcome[]> {
  const taken: WaitTurn = () => Promise.resolve(true);
  const outcomes = claims.map(async (claim) => {
    const collected =
      claim.collector === "trending"
        ? collectTrending(taken)
        : collectLargest(taken, () => Promise.resolve(newest));
    const end = AbortSignal.timeout(deadlines.publicData);
    return toOutcome(claim, await orReason(rejectWhenLate(collected, end, late)));
  });
  return Promise.all(outcomes);
}

function toOutcome(claim: CollectionRequest, result: Fact[] | string): Outcome {
  return { claim, result: typeof result === "string" ? result : encodeFacts(result) };
}

const late = () => new AppError("upstream", "It did not answer in time");

async function orReason<Value>(work: Promise<Value>): Promise<Value | string> {
  try {
    return await work;
  } catch (error) {
    return getErrorMessage(error);
  }
}

/** @throws AppError `upstream`, `not_found` */
const COLLECTORS: Record<Collector, (turns: WaitTurn, subject: string, ctx: ActionCtx) => Promise<Fact[]>> = {
  quotes: () => collectQuotes(),
  markets: (turns, _subject, ctx) =>
    collectLargest(turns, () => ctx.runQuery(internal.market.samples.listNewestPrices, {})),
  trending: collectTrending,
  day: collectDay,
  book: collectBook,
  candles: collectCandles,
  perpetuals: collectPerpetuals,
  news: collectNews,
  base: collectBase,
};

/** A source's figures about a subject, as facts. */
function buildSourceFacts(
  source: keyof typeof SOURCE_NAMES,
  by: Pick<Fact, "subject" | "observedAt" | "url" | "id">,
  values: Parameters<typeof buildFacts>[1],
): Fact[] {
  return buildFacts({ ...by, source: SOURCE_NAMES[source] }, values);
}

/** The page of a live price by source; "" for none. CoinGecko's prices come with its table of coins. */
const PRICE_PAGES: Record<Exclude<PriceSource, "coingecko">, (symbol: string) => string> = {
  chainlink: () => "",
  coinbase: (symbol) => getCoinbasePage(symbol, "ticker"),
};

/** Live prices of the majors from every source that answers; empty if none does. */
async function collectQuotes(): Promise<Fact[]> {
  const answers = listKeys(PRICE_PAGES).map(async (source) => {
    const quotes = await orReason(ASK_SOURCE[source](MAJORS, deadlines.grounding));
    if (typeof quotes === "string") log.warn("prices.source failed", { source, reason: quotes });
    return typeof quotes === "string"
      ? []
      : quotes.flatMap(({ symbol, usd: price, observedAt }) => {
          const by = { subject: symbol, observedAt, url: PRICE_PAGES[source](symbol) };
          return buildSourceFacts(source, by, { price });
        });
  });
  return (await Promise.all(answers)).flat();
}

/** The number of the largest coins with facts of their own. */
const LISTED = 50;

type ReadSamples = () => Promise<Infer<typeof vNewestPrice>[]>;

/** The largest coins. The day's change of a token that the service samples is that of its samples, as on pages and cards. */
async function collectLargest(turns: WaitTurn, readSamples: ReadSamples): Promise<Fact[]> {
  const coins = await askCoins(turns, deadlines.publicData);
  const samples = await readSamples();
  return coins.slice(0, LISTED).flatMap(({ symbol: subject, observedAt, id, ...figures }) => {
    const { name, price, change24h: listed, marketCap, volume24h, rank } = figures;
    const values = { name, price, change24h: listed, marketCap, volume24h, rank };
    const by = { subject, observedAt, url: getCoinPage(id), id };
    const sample = samples.find(({ token }) => token === subject);
    const change24h = sample === undefined ? null : computeDayChange(sample);
    if (sample === undefined || change24h === null) return buildSourceFacts("coingecko", by, values);
    const measured = { subject, observedAt: sample.observedAt, url: "", id };
    return [
      ...buildSourceFacts("coingecko", by, { ...values, change24h: null }),
      ...buildSourceFacts(sample.source, measured, { change24h }),
    ];
  });
}

async function collectTrending(turns: WaitTurn): Promise<Fact[]> {
  const coins = await askTrending(turns, deadlines.publicData);
  const observedAt = Date.now();
  return coins.flatMap(({ id, symbol: subject, name, place: trendingPlace, change24h: trendingChange }) => {
    const by = { subject, observedAt, url: getCoinPage(id), id };
    return buildSourceFacts("coingecko", by, { name, trendingPlace, trendingChange });
  });
}

/** The last trades of a token; none if the exchange does not list or trade it. */
async function collectDay(turns: WaitTurn, subject: string): Promise<Fact[]> {
  const day = await askDay(turns, subject, deadlines.publicData).catch((error: unknown) => {
    if (getErrorData(error)?.code === "not_found") return null;
    throw error;
  });
  if (day === null) return [];
  const { last: lastTrade, open, high: dayHigh, low: dayLow, volume: dayVolume } = day;
  const dayChange = (lastTrade / open - 1) * 100;
  const by = { subject, observedAt: Date.now(), url: getCoinbasePage(subject, "stats") };
  return buildSourceFacts("coinbase", by, { lastTrade, dayChange, dayHigh, dayLow, dayVolume });
}

/** Orders within this distance of the middle price count as depth. */
const DEPTH_SHARE = 0.01;

async function collectBook(turns: WaitTurn, subject: string): Promise<Fact[]> {
  const { observedAt, ...depth } = await askDepth(turns, subject, DEPTH_SHARE, deadlines.publicData);
  return buildSourceFacts(
    "coinbase",
    { subject, observedAt, url: getCoinbasePage(subject, "book?level=2") },
    depth,
  );
}

const CANDLE_HOURS = 48;
/** Hours without a trade are missing; with fewer than this there is no meaningful range. */
const FEWEST_HOURS = 40;

async function collectCandles(turns: WaitTurn, subject: string): Promise<Fact[]> {
  const to = Math.floor(Date.now() / HOUR) * HOUR;
  const range = { step: HOUR, from: to - CANDLE_HOURS * HOUR, to };
  const candles = await askCandles(turns, subject, range, deadlines.publicData);
  if (candles.length < FEWEST_HOURS) {
    const found = `only ${candles.length} of the last ${CANDLE_HOURS} hours`;
    throw new AppError("upstream", `${SOURCE_NAMES.coinbase} has ${found}`);
  }
  const high48h = Math.max(...candles.map(({ high }) => high));
  const low48h = Math.min(...candles.map(({ low }) => low));
  const by = { subject, observedAt: to, url: getCoinbasePage(subject, "candles") };
  return buildSourceFacts("coinbase", by, { high48h, low48h });
}

/** The largest perpetual markets, which reports may mention. */
const PERPETUALS = 60;

async function collectPerpetuals(turns: WaitTurn): Promise<Fact[]> {
  const markets = await askPerpetuals(turns, deadlines.publicData);
  const observedAt = Date.now();
  return markets.slice(0, PERPETUALS).flatMap(({ symbol: subject, fundingPercent, openInterest, url }) => {
    const figures = { funding: fundingPercent, openInterest };
    return buildSourceFacts("hyperliquid", { subject, observedAt, url }, figures);
  });
}

const HEADLINES = 6;

/** The day's headlines that name a coin, or all headlines of the market. */
async function collectNews(turns: WaitTurn, subject: string, ctx: ActionCtx): Promise<Fact[]> {
  const articles = await askHeadlines(turns, deadlines.publicData);
  const [markets] = LISTS;
  const query = { requested: [markets], withinMs: DAY, at: getRoundedNow() };
  const { facts } = await ctx.runQuery(internal.market.facts.readFactsAt, query);
  const names = indexNames([{ subject, kind: "symbol", value: subject }, ...facts]);
  return articles
    .filter(({ title }) => subject === "" || findCoins(title, names).includes(subject))
    .slice(0, HEADLINES)
    .flatMap(({ title: headline, url, domain: source, publishedAt: observedAt }) =>
      buildFacts({ subject: subject === "" ? "market" : subject, observedAt, source, url }, { headline }),
    );
}

async function collectBase(): Promise<Fact[]> {
  const { readChainState } = await import("../providers/chain/accounts");
  const { supply, transactions, baseFee, ...at } = await readChainState(USDC, deadlines.publicData);
  const usdcSupply = Number(formatUnits(supply, 6));
  const figures = { blockTransactions: transactions, baseFee, usdcSupply };
  return buildFacts({ subject: "Base", source: "Base, read over RPC", ...at }, figures);
}
