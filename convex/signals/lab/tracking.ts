import { v } from "convex/values";
import { internal } from "../../_generated/api";
import type { Doc } from "../../_generated/dataModel";
import { internalMutation, internalQuery, type QueryCtx } from "../../_generated/server";
import { cron } from "../../lib/cronRuns";
import { providerAction } from "../../lib/providerCalls";
import { findTicked } from "../../prices/sources";
import { assembled, outcomeOf, vStretch, walkedOn } from "../path";
import { LAB_TOKENS, type LabToken } from "../rules";
import { measuredNow, pathOf } from "../sight";
import { countNextDay } from "./days";
import { closeShadow } from "./model";
import { vLabToken } from "./tables";

/**
 * How shadow signals end: by the same path as the daily ones. A look asks for a token's candles once, whatever the number of
 * arms, and holds all its open signals against them in one transaction.
 */

/** Open signals of a token in a look: four arms for seven hours. More, after an outage, wait for the next tick. */
const BATCH = 40;

/** The tick, every 30 minutes: looks at each token that has open signals, and counts the next day that is over. */
export const track = cron("track shadow signals", async (ctx) => {
  for (const token of LAB_TOKENS) {
    const [open] = await openSignals(ctx, token, 1);
    if (open !== undefined) await ctx.scheduler.runAfter(0, internal.signals.lab.tracking.look, { token });
  }
  await countNextDay(ctx, Date.now());
});

/** Looks at a token's path since the first of its open signals was last looked at. */
export const look = providerAction({
  args: { token: vLabToken },
  returns: v.null(),
  handler: async (ctx, { token }) => {
    const span = await ctx.runQuery(internal.signals.lab.tracking.span, { token, now: Date.now() });
    if (span === null) return null;
    const price = await measuredNow(token, () => findTicked(token, 0));
    const seen = assembled(await pathOf(ctx, token, span), price);
    await ctx.runMutation(internal.signals.lab.tracking.settle, { token, from: span.from, seen });
    return null;
  },
});

/** The part of a token's path that its open signals are to be held against; `null` without any. */
export const span = internalQuery({
  args: { token: vLabToken, now: v.number() },
  returns: v.union(v.object({ from: v.number(), to: v.number() }), v.null()),
  handler: async (ctx, { token, now }) => {
    const open = await openSignals(ctx, token, BATCH);
    if (open.length === 0) return null;
    return {
      from: Math.min(...open.map(({ walkedUntil }) => walkedUntil)),
      to: Math.min(now, Math.max(...open.map(({ expiresAt }) => expiresAt))),
    };
  },
});

/** Holds a token's open signals against what was seen from a moment on; what is known from no earlier than that. */
export const settle = internalMutation({
  args: { token: vLabToken, from: v.number(), seen: v.array(vStretch) },
  returns: v.null(),
  handler: async (ctx, { token, from, seen }) => {
    const now = Date.now();
    for (const row of await openSignals(ctx, token, BATCH)) {
      const { walkedUntil: since, gapMinutes: earlierGaps } = row;
      // Issued or come into the batch since the look began: the next one is about it.
      if (since < from) continue;
      const outcome = outcomeOf(row, { seen, since, earlierGaps, now });
      if (outcome !== null) {
        await closeShadow(ctx, row, outcome);
        continue;
      }
      const walked = walkedOn(row, seen);
      if (walked !== null) await ctx.db.patch("shadowSignals", row._id, walked);
    }
    return null;
  },
});

async function openSignals(ctx: QueryCtx, token: LabToken, most: number): Promise<Doc<"shadowSignals">[]> {
  return ctx.db
    .query("shadowSignals")
    .withIndex("by_status_and_token", (q) => q.eq("status", "PENDING").eq("token", token))
    .take(most);
}
