import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { AppError } from "../lib/errors";
import { findPrices } from "./sources";
import type { Price, PricedToken } from "./tables";

/**
 * The live price of a token in USD by feeds and tickers alone, for those who have no use for the model's word, which is
 * neither asked for nor taken.
 * @throws AppError `upstream` naming what failed when none of them answers.
 */
export async function measuredPrice(ctx: ActionCtx, token: PricedToken): Promise<Price> {
  const { price, failures } = await bestPrice(ctx, token, { model: false });
  if (price !== null) return price;
  const why = failures.join("; ");
  throw new AppError("upstream", `No price feed or ticker gives the price of ${token}: ${why}`);
}

/**
 * A price that its source saw since a moment (epoch ms), for entering a trade: a feed's where it is young enough, which it
 * is seldom (feeds are written every 20 minutes while they move little), else a ticker's.
 * @throws AppError `upstream` naming what failed when none of them answers.
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
  // A sample that was young enough for other uses may stand in the way of this one's being stored.
  return { ...best, takenAt: Date.now() };
}

/**
 * The young sample, else a new one from feeds and tickers; `null`, and why, when none of them tells the price.
 * @param model Whether a young sample may be the model's word.
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
