import { v } from "convex/values";
import { internal } from "../_generated/api";
import { AppError } from "../lib/errors";
import { deadlines } from "../platform/outside/deadlines";
import { defineWorker } from "../platform/worker";
import { resolveOrder } from "../wallets/orders/estimates";
import { executeOrder } from "../wallets/orders/execution";

/** One attempt at a mention: resolves the amount at live prices, then one mutation opens the trade. */

export const executeMention = defineWorker({ mentionId: v.id("mentions") }, async (ctx, one) => {
  const begun = await ctx.runMutation(internal.social.mentions.beginMention, one);
  if (begun === null) return "over";
  const { request, value, etherPrice } = await resolveOrder(ctx, begun.wallet, begun.request);
  if (value === undefined)
    throw new AppError("upstream", "There is no live price for its token: nothing was moved");
  const terms = { amount: request.amount, value, etherPrice };
  const orderId = await ctx.runMutation(internal.social.mentions.openTrade, { ...one, ...terms });
  if (orderId === null) return "over";
  await executeOrder(ctx, orderId, deadlines.transaction);
});
