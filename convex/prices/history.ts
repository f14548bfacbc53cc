import { v, type Infer } from "convex/values";
import { internalQuery } from "../_generated/server";
import { HOUR, MINUTE } from "../lib/time";
import { newestSample, priceOf, recentHourlyCloses } from "./model";
import { PRICED_TOKENS, vClose, vPrice, vPricedToken, vPriceSource } from "./tables";

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

/** The shortest distance between points of a path. */
const PATH_STEP_MS = 5 * MINUTE;
/** The most samples of a path, which are at least a minute apart. */
const PATH_SAMPLES = 600;

const vPoint = v.object({ at: v.number(), priceUsd: v.number(), source: vPriceSource });

/**
 * The path of a token's price between two times (epoch ms, at most ten hours apart), oldest first: the last sample of
 * each five minutes, and before the first kept sample the hourly closes.
 */
export const path = internalQuery({
  args: { token: vPricedToken, from: v.number(), to: v.number() },
  returns: v.array(vPoint),
  handler: async (ctx, { token, from, to }) => {
    const samples = await ctx.db
      .query("priceSamples")
      .withIndex("by_token_and_takenAt", (q) => q.eq("token", token).gte("takenAt", from).lte("takenAt", to))
      .take(PATH_SAMPLES);
    const sampledFrom = samples[0]?.takenAt ?? Infinity;
    const closes = await ctx.db
      .query("hourlyCloses")
      .withIndex("by_token_and_hourEndsAt", (q) =>
        q.eq("token", token).gte("hourEndsAt", from).lte("hourEndsAt", to),
      )
      .take(Math.ceil((to - from) / HOUR) + 1);
    const last = new Map<number, Infer<typeof vPoint>>();
    for (const { takenAt, priceUsd, source } of samples) {
      last.set(Math.floor(takenAt / PATH_STEP_MS), { at: takenAt, priceUsd, source });
    }
    const earlier = closes
      .filter(({ hourEndsAt }) => hourEndsAt < sampledFrom)
      .map(({ hourEndsAt, priceUsd, source }) => ({ at: hourEndsAt, priceUsd, source }));
    return [...earlier, ...last.values()];
  },
});
