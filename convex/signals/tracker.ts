import { v } from "convex/values";
import { internal } from "../_generated/api";
import { internalQuery } from "../_generated/server";
import { change } from "../lib/changes";
import { cron } from "../lib/cronRuns";
import { closeSignal } from "./model";
import { evaluatedOn, isSettled, outcomeOf } from "./path";
import { TOKENS } from "./rules";
import { vStretch, vToken } from "./tables";

/**
 * The outcome tracker. A tick asks for a live price and for the one-minute candles since the last look; the first level
 * that is touched decides. If a tick is lost, the next one does its work. Only measured prices decide: a record of wins
 * and losses built on a language model's market data would be worth nothing.
 */

/** How many open signals one look takes up, oldest first: a token has one a day, which lives for hours. */
const BATCH = 20;

export const track = cron("track signal outcomes", async (ctx) => {
  const open = await ctx.db
    .query("signals")
    .withIndex("by_status", (q) => q.eq("status", "PENDING"))
    .first();
  if (open !== null) await ctx.scheduler.runAfter(0, internal.signals.actions.look, {});
});

/** The open signals of each token, and the part of the path (epoch ms) that is not finally known. */
export const open = internalQuery({
  args: {},
  returns: v.array(
    v.object({ token: vToken, signalIds: v.array(v.id("signals")), from: v.number(), to: v.number() }),
  ),
  handler: async (ctx) => {
    const rows = await ctx.db
      .query("signals")
      .withIndex("by_status", (q) => q.eq("status", "PENDING"))
      .take(BATCH);
    return TOKENS.flatMap((token) => {
      const own = rows.filter((row) => row.token === token);
      if (own.length === 0) return [];
      return [
        {
          token,
          signalIds: own.map(({ _id }) => _id),
          from: Math.min(...own.map(({ evaluatedUntil }) => evaluatedUntil)),
          to: Math.max(...own.map(({ expiresAt }) => expiresAt)),
        },
      ];
    });
  },
});

/** Holds open signals against the path that was seen. */
export const settle = change(
  { signalIds: v.array(v.id("signals")), seen: v.array(vStretch) },
  async (ctx, { signalIds, seen }) => {
    const now = Date.now();
    for (const signalId of signalIds) {
      const signal = await ctx.db.get("signals", signalId);
      if (signal?.status !== "PENDING") continue;
      const { evaluatedUntil: since, gapMinutes: earlierGaps } = signal;
      const outcome = outcomeOf(signal, { seen, since, earlierGaps, now });
      if (outcome === null) {
        const known = evaluatedOn(signal, { seen, now });
        if (known !== null) await ctx.db.patch("signals", signalId, known);
      } else if (isSettled(outcome, now)) await closeSignal(ctx, signal, outcome);
    }
  },
);
