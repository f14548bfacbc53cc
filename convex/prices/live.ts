import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { AppError } from "../lib/errors";
import { findPrices } from "./sources";
import type { Price, PricedToken } from "./tables";

/**
 * The live price of a token in USD from feeds and tickers only, for callers that cannot use the model's.
 * @throws AppError `upstream` naming what failed if none of them answers.
 */
export async function measuredPrice(ctx: ActionCtx, token: PricedToken): Promise<Price> {
  const { price, failures } = await bestPrice(ctx, token, { model: false });
  if (price !== null) return price;
  const why = failures.join("; ");
  throw new AppError("upstream", `No price feed or ticker gives the price of ${token}: ${why}`);
}

/**
 * A price that its source saw since a moment (epoch ms), for entering a trade: the feed's if it is recent enough, which
 * is rare (feeds are written every 20 minutes while they move little), otherwise a ticker's.
 * @throws AppError `upstream` naming what failed if none of them answers.
 */
export async function tradablePrice(
  ctx: ActionCtx,
  token: PricedToken,
  observedSince: number,
): Promise<Price> {
  const young: Price | null = await ctx.runQuery(internal.prices.samples.young, { token, now: Date.now() });
  if (young !== null && young.source !== "llm" && young.observedAt >= observedSince) return young;
  const { found, failures } = await findPrices([token], observedSince);
  const [best] = found;
  if (best === undefined) {
    throw new AppError("upstream", `No source gives a current price of ${token}: ${failures.join("; ")}`);
  }
  await ctx.runMutation(internal.prices.samples.store, best);
  // A sample that is recent enough for other uses may prevent this one from being stored.
  return { ...best, takenAt: Date.now() };
}

/**
 * The recent sample, otherwise a new one from feeds and tickers; `null`, with the reason, if none of them has the
 * price.
 * @param model Whether a recent sample may be the model's.
 */
export async function bestPrice(
  ctx: ActionCtx,
  token: PricedToken,
  { model }: { model: boolean },
): Promise<{ price: Price | null; failures: string[] }> {
  const young: Price | null = await ctx.runQuery(internal.prices.samples.young, { token, now: Date.now() });
  if (young !== null && (model || young.source !== "llm")) return { price: young, failures: [] };
  const { found, failures } = await findPrices([token]);
  const [best] = found;
  return {
    price: best === undefined ? null : await ctx.runMutation(internal.prices.samples.store, best),
    failures,
  };
}
