import { v } from "convex/values";
import { internal } from "../_generated/api";
import { internalMutation, internalQuery } from "../_generated/server";
import { cron } from "../lib/cronRuns";
import { priceOf, samplesBetween, storeSample, youngSample } from "./model";
import { PRICED_TOKENS, vPrice, vPricedToken, vPriceSource } from "./tables";

/** The newest sample of a token where it is young enough to serve at `now` (epoch ms), else `null`. */
export const young = internalQuery({
  args: { token: vPricedToken, now: v.number() },
  returns: v.union(vPrice, v.null()),
  handler: async (ctx, { token, now }) => {
    const sample = await youngSample(ctx, token, now);
    return sample === null ? null : priceOf(sample);
  },
});

/** What feeds and tickers said in [from, to], epoch ms, oldest first. */
export const between = internalQuery({
  args: { token: vPricedToken, from: v.number(), to: v.number() },
  returns: v.array(vPrice),
  handler: async (ctx, { token, from, to }) => samplesBetween(ctx, token, { from, to }),
});

/** For the cron, every five minutes: has a sample of each token taken that has no young one. */
export const takeDue = cron("sample live prices", async (ctx) => {
  const now = Date.now();
  const samples = await Promise.all(PRICED_TOKENS.map((token) => youngSample(ctx, token, now)));
  if (samples.some((sample) => sample === null)) {
    await ctx.scheduler.runAfter(0, internal.prices.live.sample, {});
  }
});

/** Stores what a source said. @returns The sample that counts: an earlier one where one is young enough. */
export const store = internalMutation({
  args: { token: vPricedToken, priceUsd: v.number(), source: vPriceSource, observedAt: v.number() },
  returns: vPrice,
  handler: async (ctx, sample) => storeSample(ctx, sample),
});
