import * as z from "zod";
import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import type { Fact } from "../figures/facts";
import { COIN_NAMES } from "../lib/money/coins";
import { DAY, getRoundedNow, HOUR, toIso } from "../lib/time";
import { LISTS } from "./facts";
import { computeDayChange } from "./samples";
import { indexCoins, type Coin } from "./snapshot";
import { PRICE_SOURCES, PRICED_TOKENS, type Collector, type HourlyClose, type PricedToken } from "./tables";

const source = z.enum(PRICE_SOURCES).describe("The source: a price feed, an exchange, or CoinGecko");

const pricePoint = z.object({ at: z.iso.datetime(), priceUsd: z.number(), source });
export type PricePoint = z.output<typeof pricePoint>;

const tokenPrice = z.object({
  priceUsd: z.number(),
  source,
  observedAt: z.iso.datetime().describe("When its source saw it"),
  change24hPercent: z
    .number()
    .nullable()
    .describe("Since the same minute of the day before; null if the price then is not known"),
  closes: z.array(pricePoint).describe("The last price of each hour, oldest first; `at` is the hour's end"),
});

export const pricesShape = z.object({
  hours: z.int(),
  prices: z.object({ BTC: tokenPrice.nullable(), ETH: tokenPrice.nullable() }),
});
export type PublicPrices = z.output<typeof pricesShape>;

/** The newest prices, and the closes of the last `hours`. */
export async function readPrices(ctx: ActionCtx, hours: number): Promise<PublicPrices> {
  const now = Date.now();
  // Rounded to the whole hour, so that all callers share one cached query until the next close.
  const before = Math.floor(now / HOUR) * HOUR;
  const [newest, closes] = await Promise.all([
    ctx.runQuery(internal.market.samples.listNewestPrices, {}),
    ctx.runQuery(internal.market.samples.listCloses, { before, count: hours }),
  ]);
  const of = (token: PricedToken) => {
    const price = newest.find((one) => one.token === token);
    if (price === undefined) return null;
    const { priceUsd, source, observedAt } = price;
    return {
      priceUsd,
      source,
      observedAt: toIso(observedAt),
      change24hPercent: computeDayChange(price),
      closes: listClosesSince(closes[token], before - hours * HOUR),
    };
  };
  return { hours, prices: { BTC: of("BTC"), ETH: of("ETH") } };
}

/** The closes after a moment (epoch ms). */
export function listClosesSince(closes: readonly HourlyClose[], since: number): PricePoint[] {
  return closes
    .filter(({ hourEndsAt }) => hourEndsAt > since)
    .map(({ hourEndsAt, priceUsd, source }) => ({ at: toIso(hourEndsAt), priceUsd, source }));
}

/** The hours of a price's course, which is as long as its change. */
const COURSE_HOURS = 24;

/** The collections of a single coin, which exist once it was requested. */
const ON_REQUEST: readonly Collector[] = ["day", "book", "candles", "news"];

export type StoredMarket = { prices: PublicPrices["prices"]; coins: Map<string, Coin>; facts: Fact[] };

/**
 * The market by the facts stored within a day; no source is asked. The lists are at most half an hour old while their
 * source answers. A sampled token has one price and one change everywhere, by its samples.
 * @param symbol A coin whose own collections are read as well.
 */
export async function readStoredMarket(ctx: ActionCtx, symbol?: string): Promise<StoredMarket> {
  const onRequest =
    symbol === undefined ? [] : ON_REQUEST.map((collector) => ({ collector, subject: symbol }));
  const requested = [...LISTS, { collector: "perpetuals" as const, subject: "" }, ...onRequest];
  const query = { requested, withinMs: DAY, at: getRoundedNow() };
  const [{ prices }, { facts }] = await Promise.all([
    readPrices(ctx, COURSE_HOURS),
    ctx.runQuery(internal.market.facts.readFactsAt, query),
  ]);
  const coins = indexCoins(facts);
  for (const token of PRICED_TOKENS) {
    const { [token]: price } = prices;
    if (price === null) continue;
    const { name = COIN_NAMES[token][0], size = null, change24h } = coins.get(token) ?? {};
    coins.set(token, {
      symbol: token,
      name,
      size,
      usd: price.priceUsd,
      change24h: price.change24hPercent ?? change24h ?? null,
      source: price.source,
      observedAt: Date.parse(price.observedAt),
    });
  }
  return { prices, coins, facts };
}
