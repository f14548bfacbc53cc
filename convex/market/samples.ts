import { internal } from "../_generated/api";
import { dueWork } from "../lib/cronRuns";
import { youngSample } from "../prices/model";
import { PRICED_TOKENS } from "../prices/tables";

/** Runs every five minutes: samples each token without a recent sample. */
export const takeDue = dueWork(async (ctx) => {
  const now = Date.now();
  const samples = await Promise.all(PRICED_TOKENS.map((token) => youngSample(ctx, token, now)));
  if (samples.some((sample) => sample === null)) {
    await ctx.scheduler.runAfter(0, internal.market.prices.sample, {});
  }
});
