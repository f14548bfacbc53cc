import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { AppError } from "../lib/errors";
import { findPrices } from "./sources";
import type { Price, PricedToken } from "./tables";

/**
 * The price of a token in USD from feeds and tickers only, for callers that cannot use the model's.
 * @param since Epoch ms: what its source saw earlier does not count. For entering a trade a feed's is rarely recent enough (feeds
 * are written every 20 minutes while they move little), so that a ticker's is taken.
 * @throws AppError `upstream` naming what failed if none of them answers.
 */
export async function measuredPrice(ctx: ActionCtx, token: PricedToken, since = 0): Promise<Price> {
  const { price, failures } = await bestPrice(ctx, token, { model: false, since });
  if (price !== null) return price;
  const why = failures.join("; ");
  throw new AppError("upstream", `No price feed or ticker gives a current price of ${token}: ${why}`);
}

/**
 * The recent sample, otherwise a new one from feeds and tickers; `null`, with the reason, if none of them has the
 * price.
 * @param model Whether a recent sample may be the model's.
 */
export async function bestPrice(
  ctx: ActionCtx,
  token: PricedToken,
  { model, since = 0 }: { model: boolean; since?: number },
): Promise<{ price: Price | null; failures: string[] }> {
  const young: Price | null = await ctx.runQuery(internal.prices.samples.young, { token, now: Date.now() });
  const isGood = young !== null && (model || young.source !== "llm") && young.observedAt >= since;
  if (isGood) return { price: young, failures: [] };
  const { found, failures } = await findPrices([token], since);
  const [best] = found;
  if (best === undefined) return { price: null, failures };
  const kept: Price = await ctx.runMutation(internal.prices.samples.store, best);
  // A sample that is recent enough for other uses may have prevented this one from being stored.
  return { price: kept.observedAt >= since ? kept : { ...best, takenAt: Date.now() }, failures };
}
