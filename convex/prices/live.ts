import { v } from "convex/values";
import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { AppError, messageOf } from "../lib/errors";
import { log } from "../lib/log";
import { counted, providerAction } from "../lib/providerCalls";
import { modelPrice } from "./modelData";
import { findPrices } from "./sources";
import { PRICED_TOKENS, vPrice, vPricedToken, type Price, type PricedToken } from "./tables";

/**
 * The live price of a token in USD: the newest sample when it was taken at most 60 s ago; else from Chainlink's feeds,
 * the public tickers (Coinbase, Binance, CoinGecko) or, marked `llm`, the model's market data, and stored. Takes 24 s at
 * the very most, when every source hangs. For actions.
 * @throws AppError `upstream` naming what failed when nothing answers.
 */
export const currentPrice = counted(async (ctx, token: PricedToken): Promise<Price> => {
  const { price: best, failures } = await bestPrice(ctx, token, { model: true });
  if (best !== null) return best;
  try {
    const price = await modelPrice(ctx, token, { ask: true });
    if (price !== null) {
      return await ctx.runMutation(internal.prices.samples.store, { token, source: "llm", ...price });
    }
    failures.push("The LLM gateway did not answer in time");
  } catch (error) {
    failures.push(messageOf(error));
  }
  throw new AppError("upstream", `No source gives a live price of ${token}: ${failures.join("; ")}`);
});

/** The same by hand: `npx convex run prices/live:current '{"token":"ETH"}'`. */
export const current = providerAction({
  args: { token: vPricedToken },
  returns: vPrice,
  handler: (ctx, { token }): Promise<Price> => currentPrice(ctx, token),
});

/**
 * As `currentPrice`, but from feeds and tickers alone: for who has no use for the model's word, which is neither asked for
 * nor taken.
 * @throws AppError `upstream` naming what failed when none of them answers.
 */
export const measured = providerAction({
  args: { token: vPricedToken },
  returns: vPrice,
  handler: async (ctx, { token }): Promise<Price> => {
    const { price, failures } = await bestPrice(ctx, token, { model: false });
    if (price !== null) return price;
    const why = failures.join("; ");
    throw new AppError("upstream", `No price feed or ticker gives the price of ${token}: ${why}`);
  },
});

/**
 * A price that its source saw since a moment (epoch ms), for entering a trade: a feed's where it is young enough, which it
 * is seldom (feeds are written every 20 minutes while they move little), else a ticker's.
 * @throws AppError `upstream` naming what failed when none of them answers.
 */
export const tradable = providerAction({
  args: { token: vPricedToken, observedSince: v.number() },
  returns: vPrice,
  handler: async (ctx, { token, observedSince }): Promise<Price> => {
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
  },
});

/**
 * The young sample, else a new one from feeds and tickers; `null`, and why, when none of them tells the price.
 * @param model Whether a young sample may be the model's word.
 */
async function bestPrice(
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

/**
 * Takes one sample of each token; one call to the chain serves all. A token that neither feeds nor tickers know gets the
 * price of the model's last market data, which are not asked for anew here.
 */
export const sample = providerAction({
  args: {},
  returns: v.null(),
  handler: async (ctx) => {
    const { found, failures } = await findPrices(PRICED_TOKENS);
    for (const price of found) await ctx.runMutation(internal.prices.samples.store, price);
    if (failures.length > 0) log.warn("prices.sources failed", { reasons: failures.join("; ") });
    for (const token of PRICED_TOKENS) {
      if (found.some((price) => price.token === token)) continue;
      const price = await modelPrice(ctx, token, { ask: false });
      if (price === null) log.error("prices.no sample", { token });
      else await ctx.runMutation(internal.prices.samples.store, { token, source: "llm", ...price });
    }
    return null;
  },
});
