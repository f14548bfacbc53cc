import { v } from "convex/values";
import { internalQuery } from "../_generated/server";
import { newestSample, pathBetween, priceOf, recentHourlyCloses } from "./model";
import { PRICED_TOKENS, vClose, vPrice, vPricedToken, vPriceSource } from "./tables";

/** Prices as the service itself has seen them. */

/** The newest price of each token that has one. */
export const newest = internalQuery({
  args: {},
  returns: v.array(vPrice),
  handler: async (ctx) => {
    const samples = await Promise.all(PRICED_TOKENS.map((token) => newestSample(ctx, token)));
    return samples.flatMap((sample) => (sample === null ? [] : [priceOf(sample)]));
  },
});

/** The closes of the last `count` hours that had ended by `before` (epoch ms), oldest first. */
export const closes = internalQuery({
  args: { before: v.number(), count: v.number() },
  returns: v.object({ BTC: v.array(vClose), ETH: v.array(vClose) }),
  handler: async (ctx, range) => ({
    BTC: await recentHourlyCloses(ctx, "BTC", range),
    ETH: await recentHourlyCloses(ctx, "ETH", range),
  }),
});

/** The path of a token's price between two moments (epoch ms, at most ten hours apart), oldest first. */
export const path = internalQuery({
  args: { token: vPricedToken, from: v.number(), to: v.number() },
  returns: v.array(v.object({ at: v.number(), priceUsd: v.number(), source: vPriceSource })),
  handler: (ctx, { token, ...range }) => pathBetween(ctx, token, range),
});
