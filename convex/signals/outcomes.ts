import { v } from "convex/values";
import { internal } from "../_generated/api";
import { internalAction, internalMutation, type ActionCtx } from "../_generated/server";
import { recordCronRun } from "../lib/cronRuns";
import { failureOf } from "../lib/errors";
import { log } from "../lib/log";
import { closeSignal } from "./model";
import { outcomeOf, TOKENS, type Look, type Token } from "./rules";
import { vToken } from "./tables";

/**
 * The outcome tracker. A tick asks for one price per token that has pending signals and holds every one of them against
 * it; a tick that is lost is made good by the next, for what is pending is read from the table.
 *
 * Only a measured price (a feed's, a ticker's) decides: the language model's market data may be invented, and a record
 * of wins, losses and results built on it would be worth nothing. With no measured price in reach nothing changes; a
 * signal that nobody could price until 6 hours after its expiry is closed as EXPIRED without a price and a result.
 */

/** Pending signals per transaction; a full batch is followed by another. */
const BATCH = 50;

/** The tracker's tick. */
export const track = internalMutation({
  args: {},
  returns: v.null(),
  handler: async (ctx) => {
    await recordCronRun(ctx, "track signal outcomes");
    for (const token of TOKENS) {
      const pending = await ctx.db
        .query("signals")
        .withIndex("by_status_and_token", (q) => q.eq("status", "PENDING").eq("token", token))
        .first();
      if (pending !== null) await ctx.scheduler.runAfter(0, internal.signals.outcomes.look, { token });
    }
    return null;
  },
});

/** Looks at a token's price once, for all of its pending signals. */
export const look = internalAction({
  args: { token: vToken },
  returns: v.null(),
  handler: async (ctx, { token }) => {
    const price = await measuredPrice(ctx, token);
    let after: number | null = 0;
    while (after !== null) {
      after = await ctx.runMutation(internal.signals.outcomes.settle, { token, price, after });
    }
    return null;
  },
});

async function measuredPrice(ctx: ActionCtx, token: Token): Promise<Look | null> {
  try {
    const { priceUsd, observedAt, takenAt } = await ctx.runAction(internal.prices.live.measured, { token });
    return { priceUsd, observedAt, takenAt };
  } catch (error) {
    const failure = failureOf(error);
    if (failure === null) throw error;
    log.warn("signals.no measured price", { token, reason: failure.message });
    return null;
  }
}

/**
 * Holds a batch of pending signals against a price, and ends those that are over.
 * @returns What to go on after (`generatedAt`), `null` when there are no more.
 */
export const settle = internalMutation({
  args: {
    token: vToken,
    price: v.union(v.object({ priceUsd: v.number(), observedAt: v.number(), takenAt: v.number() }), v.null()),
    after: v.number(),
  },
  returns: v.union(v.number(), v.null()),
  handler: async (ctx, { token, price, after }) => {
    const now = Date.now();
    const batch = await ctx.db
      .query("signals")
      .withIndex("by_status_and_token", (q) =>
        q.eq("status", "PENDING").eq("token", token).gt("generatedAt", after),
      )
      .take(BATCH);
    for (const signal of batch) {
      const outcome = outcomeOf(signal, price, now);
      if (outcome !== null) await closeSignal(ctx, signal, outcome, now);
    }
    return batch.length < BATCH ? null : (batch.at(-1)?.generatedAt ?? null);
  },
});
