import * as z from "zod";
import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { HOUR, toIso } from "../lib/time";
import { computeDayChange } from "./samples";
import { PRICE_SOURCES, type HourlyClose, type PricedToken } from "./tables";

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
