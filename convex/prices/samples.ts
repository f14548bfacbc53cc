import { v } from "convex/values";
import { internalMutation, internalQuery } from "../_generated/server";
import { priceOf, samplesBetween, storeSample, youngSample } from "./model";
import { vPrice, vPricedToken, vPriceSource } from "./tables";

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

/** Stores what a source said. @returns The sample that counts: an earlier one where one is young enough. */
export const store = internalMutation({
  args: { token: vPricedToken, priceUsd: v.number(), source: vPriceSource, observedAt: v.number() },
  returns: vPrice,
  handler: async (ctx, sample) => storeSample(ctx, sample),
});
