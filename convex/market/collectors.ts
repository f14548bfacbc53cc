import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { AppError, failureOf, messageOf } from "../lib/errors";
import { factsOf, type Fact } from "../lib/facts";
import { log } from "../lib/log";
import { formatUnits } from "../lib/money/amounts";
import { USDC } from "../lib/money/base";
import { namesOf, MAJORS } from "../lib/money/coins";
import { together, turnsOf, type WaitTurn } from "../lib/outside/sourceTurns";
import { deadlines } from "../lib/outside/deadlines";
import { SOURCE_NAMES } from "../lib/publicSources";
import { awaitRefresh } from "../lib/cache";
import { DAY, HOUR, roundedNow, unlessLate } from "../lib/time";
import { askCandles, askDay, askDepth, coinbasePage } from "../providers/data/coinbase";
import { askCoins, askTrending, coinPage } from "../providers/data/coingecko";
import { askHeadlines } from "../providers/data/headlines";
import { askPerpetuals } from "../providers/data/hyperliquid";
import { coinsNamed, LISTS } from "./facts";
import { quotesOf } from "./live";
import type { Collector, Missing, Wanted } from "./tables";

/**
 * Collects facts; of the callers who need a collection, one makes it while the others wait, by collector and subject
 * (`lib/cache`). Each collector asks one source and converts its answer to facts.
 */

/** Collections that end within this time of one another are stored together. */
const STORED_TOGETHER_MS = 100;

type Outcome = { claim: Wanted; result: Fact[] | string };

/**
 * Makes sure that the facts of these collections are at most `freshMs` old; the caller collects what nobody else is
 * collecting. Never throws for a source's failure.
 * @param waitMs What has not come by then is missing, and its source is left alone for a minute.
 * @returns What could not be collected, and why.
 */
export async function gather(
  ctx: ActionCtx,
  wanted: readonly Wanted[],
  { freshMs, waitMs = deadlines.publicData }: { freshMs: number; waitMs?: number },
): Promise<Missing[]> {
  const end = () => AbortSignal.timeout(waitMs);
  const { mine, others } = await ctx.runMutation(internal.market.facts.claim, {
    wanted: [...wanted],
    freshMs,
  });
  const turns = turnsOf(ctx);
  const store = together(async (outcomes: Outcome[]) => {
    await ctx.runMutation(internal.market.facts.store, { outcomes });
    return outcomes;
  }, STORED_TOGETHER_MS);
  const collectOwn = async (claim: Wanted): Promise<string | null> => {
    const { collector, subject } = claim;
    const result = await outcomeOf(unlessLate(COLLECTORS[collector](turns, subject, ctx), end(), late));
    await store({ claim, result });
    const reason = typeof result === "string" ? result : result.length === 0 ? "No source has it" : null;
    if (typeof result === "string") log.warn("facts.missing", { collector, subject, reason });
    return reason;
  };
  const awaitOther = async (key: string): Promise<string | null> => {
    const outcome = await outcomeOf(awaitRefresh(ctx, key, end()));
    return outcome === "done" ? null : outcome === "late" ? late().message : outcome;
  };
  const missing = async ({ collector, subject }: Wanted, reason: Promise<string | null>) => {
    const why = await reason;
    return why === null ? [] : [{ collector, subject, reason: why }];
  };
  const all = [
    ...mine.map((one) => missing(one, collectOwn(one))),
    ...others.map((one) => missing(one, awaitOther(one.key))),
  ];
  return (await Promise.all(all)).flat();
}

const late = () => new AppError("upstream", "It did not come in time");

async function outcomeOf<Value>(work: Promise<Value>): Promise<Value | string> {
  try {
    return await work;
  } catch (error) {
    return messageOf(error);
  }
}

/** @throws AppError `upstream`, `not_found` */
const COLLECTORS: Record<Collector, (turns: WaitTurn, subject: string, ctx: ActionCtx) => Promise<Fact[]>> = {
  quotes: () => collectQuotes(),
  markets: collectMarkets,
  trending: collectTrending,
  day: collectDay,
  book: collectBook,
  candles: collectCandles,
  perpetuals: collectPerpetuals,
  news: collectNews,
  base: collectBase,
};

/** A source's figures about a subject, as facts. */
function observed(
  source: keyof typeof SOURCE_NAMES,
  by: Pick<Fact, "subject" | "observedAt" | "url" | "id">,
  values: Parameters<typeof factsOf>[1],
): Fact[] {
  return factsOf({ ...by, source: SOURCE_NAMES[source] }, values);
}

/** Live prices of the majors, by each source that answers; empty if none does. */
async function collectQuotes(): Promise<Fact[]> {
  const answers = (["chainlink", "coinbase"] as const).map(async (source) => {
    const quotes = await outcomeOf(quotesOf(source, MAJORS, deadlines.grounding));
    if (typeof quotes === "string") log.warn("prices.source failed", { source, reason: quotes });
    return typeof quotes === "string"
      ? []
      : quotes.flatMap(({ symbol, usd: price, observedAt }) => {
          const url = source === "coinbase" ? coinbasePage(symbol, "ticker") : "";
          return observed(source, { subject: symbol, observedAt, url }, { price });
        });
  });
  return (await Promise.all(answers)).flat();
}

/** How many of the largest coins have facts of their own. */
const LISTED = 50;

async function collectMarkets(turns: WaitTurn): Promise<Fact[]> {
  const coins = await askCoins(turns, deadlines.publicData);
  return coins.slice(0, LISTED).flatMap(({ symbol: subject, observedAt, id, ...values }) => {
    return observed("coingecko", { subject, observedAt, url: coinPage(id), id }, values);
  });
}

async function collectTrending(turns: WaitTurn): Promise<Fact[]> {
  const coins = await askTrending(turns, deadlines.publicData);
  const observedAt = Date.now();
  return coins.flatMap(({ id, symbol: subject, name, place: trendingPlace, change24h: trendingChange }) => {
    const by = { subject, observedAt, url: coinPage(id), id };
    return observed("coingecko", by, { name, trendingPlace, trendingChange });
  });
}

/** The last trades of a token; none if the exchange does not list it, or nobody trades it there. */
async function collectDay(turns: WaitTurn, subject: string): Promise<Fact[]> {
  const day = await askDay(turns, subject, deadlines.publicData).catch((error: unknown) => {
    if (failureOf(error)?.code === "not_found") return null;
    throw error;
  });
  if (day === null) return [];
  const { last: lastTrade, open, high: dayHigh, low: dayLow, volume: dayVolume } = day;
  const dayChange = (lastTrade / open - 1) * 100;
  const by = { subject, observedAt: Date.now(), url: coinbasePage(subject, "stats") };
  return observed("coinbase", by, { lastTrade, dayChange, dayHigh, dayLow, dayVolume });
}

/** Orders this near to the middle price count as depth. */
const DEPTH_SHARE = 0.01;

async function collectBook(turns: WaitTurn, subject: string): Promise<Fact[]> {
  const { observedAt, ...depth } = await askDepth(turns, subject, DEPTH_SHARE, deadlines.publicData);
  return observed("coinbase", { subject, observedAt, url: coinbasePage(subject, "book?level=2") }, depth);
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
  const by = { subject, observedAt: to, url: coinbasePage(subject, "candles") };
  return observed("coinbase", by, { high48h, low48h });
}

/** The largest perpetual markets, which reports may mention. */
const PERPETUALS = 60;

async function collectPerpetuals(turns: WaitTurn): Promise<Fact[]> {
  const markets = await askPerpetuals(turns, deadlines.publicData);
  const observedAt = Date.now();
  return markets.slice(0, PERPETUALS).flatMap(({ symbol: subject, fundingPercent, openInterest, url }) => {
    const figures = { funding: fundingPercent, openInterest };
    return observed("hyperliquid", { subject, observedAt, url }, figures);
  });
}

const HEADLINES = 6;

/** The day's headlines that name a coin, or all of the market. */
async function collectNews(turns: WaitTurn, subject: string, ctx: ActionCtx): Promise<Fact[]> {
  const articles = await askHeadlines(turns, deadlines.publicData);
  const [markets] = LISTS;
  const wanted = { wanted: [markets], withinMs: DAY, at: roundedNow() };
  const { facts } = await ctx.runQuery(internal.market.facts.latest, wanted);
  const names = namesOf([{ subject, kind: "symbol", value: subject }, ...facts]);
  return articles
    .filter(({ title }) => subject === "" || coinsNamed(title, names).includes(subject))
    .slice(0, HEADLINES)
    .flatMap(({ title: headline, url, domain: source, publishedAt: observedAt }) =>
      factsOf({ subject: subject === "" ? "market" : subject, observedAt, source, url }, { headline }),
    );
}

async function collectBase(): Promise<Fact[]> {
  const { readChainState } = await import("../providers/chain/blocks");
  const { supply, transactions, baseFee, ...at } = await readChainState(USDC, deadlines.publicData);
  const usdcSupply = Number(formatUnits(supply, 6));
  const figures = { blockTransactions: transactions, baseFee, usdcSupply };
  return factsOf({ subject: "Base", source: "Base, read over RPC", ...at }, figures);
}
