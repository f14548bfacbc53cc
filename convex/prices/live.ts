import { v } from "convex/values";
import { internal } from "../_generated/api";
import { AppError, messageOf } from "../lib/errors";
import { log } from "../lib/log";
import { providerAction } from "../lib/providerCalls";
import { modelPrice } from "./modelData";
import { findPrices } from "./sources";
import { PRICED_TOKENS, vPrice, vPricedToken, type Price } from "./tables";

/**
 * The live price of a token in USD: the newest sample when it was taken at most 60 s ago; else from Chainlink's feeds,
 * the public tickers (Coinbase, Binance, CoinGecko) or, marked `llm`, the model's market data, and stored. Takes 24 s at
 * the very most, when every source hangs.
 * @throws AppError `upstream` naming what failed when nothing answers.
 */
export const current = providerAction({
  args: { token: vPricedToken },
  returns: vPrice,
  handler: async (ctx, { token }): Promise<Price> => {
    const young: Price | null = await ctx.runQuery(internal.prices.samples.young, { token, now: Date.now() });
    if (young !== null) return young;
    const { found, failures } = await findPrices([token]);
    const [best] = found;
    if (best !== undefined) return ctx.runMutation(internal.prices.samples.store, best);
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
  },
});

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
