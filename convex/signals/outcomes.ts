import { v } from "convex/values";
import { internal } from "../_generated/api";
import type { Doc } from "../_generated/dataModel";
import { internalMutation, internalQuery, type MutationCtx, type QueryCtx } from "../_generated/server";
import { cron } from "../lib/cronRuns";
import { providerAction } from "../lib/providerCalls";
import { HOUR } from "../lib/time";
import { comparisonOf } from "./controls";
import { completeDay } from "./days";
import { hasGaps } from "./edge";
import { closeSignal, keepComparison } from "./model";
import { assembled, outcomeOf, uncoveredMinutes, vStretch, walkedOn, type Stretch } from "./path";
import { LIFETIME_MS, positionOf, TOKENS, type Token } from "./rules";
import { measuredNow, pathOf, type Span } from "./sight";
import { vToken } from "./tables";

/**
 * The outcome tracker. A tick asks for one live price per token that has open signals, and for the one-minute candles
 * since its last look; the first level touched decides. Once a signal has expired, its controls are told from the whole
 * path. A tick that is lost is made good by the next, for what is open is read from the table.
 *
 * Only measured prices (an exchange's, a feed's, a ticker's) decide: the language model's market data may be invented, and
 * a record of wins, losses and results built on it would be worth nothing.
 */

/** Signals per look: usually there is one. More, after an outage, wait for the next tick. */
const BATCH = 20;

/** Candles that are not to be had at expiry may be later; controls wait for them this long. */
const PATIENCE_MS = 2 * HOUR;

/** The tracker's tick. */
export const track = cron("track signal outcomes", async (ctx) => {
  for (const token of TOKENS) {
    if ((await openSignal(ctx, token, { after: 0, now: Date.now() })) === null) continue;
    await ctx.scheduler.runAfter(0, internal.signals.outcomes.look, { token });
  }
});

/** Looks at a token's price once, and at the path of each of its open signals. */
export const look = providerAction({
  args: { token: vToken },
  returns: v.null(),
  handler: async (ctx, { token }) => {
    const price = await measuredNow(token, () => ctx.runAction(internal.prices.live.measured, { token }));
    let after = 0;
    for (let n = 0; n < BATCH; n++) {
      const open = await ctx.runQuery(internal.signals.outcomes.next, { token, after, now: Date.now() });
      if (open === null) break;
      const seen = assembled(await pathOf(ctx, token, open.span), price);
      await ctx.runMutation(internal.signals.outcomes.settle, { signalId: open.signalId, seen });
      after = open.generatedAt;
    }
    return null;
  },
});

/** The oldest open signal that was issued after a moment, and which part of its path is to be known. */
export const next = internalQuery({
  args: { token: vToken, after: v.number(), now: v.number() },
  returns: v.union(
    v.object({
      signalId: v.id("signals"),
      generatedAt: v.number(),
      span: v.object({ from: v.number(), to: v.number() }),
    }),
    v.null(),
  ),
  handler: async (ctx, { token, after, now }) => {
    const open = await openSignal(ctx, token, { after, now });
    if (open === null) return null;
    return { signalId: open._id, generatedAt: open.generatedAt, span: spanOf(open, now) };
  },
});

/** One that is pending, or has expired and waits for its controls. */
async function openSignal(ctx: QueryCtx, token: Token, { after, now }: { after: number; now: number }) {
  const pending = await ctx.db
    .query("signals")
    .withIndex("by_status_and_token", (q) =>
      q.eq("status", "PENDING").eq("token", token).gt("generatedAt", after),
    )
    .first();
  const uncompared = await ctx.db
    .query("signals")
    .withIndex("by_comparison_and_token", (q) =>
      q
        .eq("comparison", "due")
        .eq("token", token)
        .gt("generatedAt", after)
        .lte("generatedAt", now - LIFETIME_MS),
    )
    .first();
  if (pending === null || uncompared === null) return pending ?? uncompared;
  return pending.generatedAt <= uncompared.generatedAt ? pending : uncompared;
}

/** The controls need the whole path, an open signal what no look has walked yet. */
function spanOf({ generatedAt, expiresAt, comparison, walkedUntil }: Doc<"signals">, now: number): Span {
  const from = comparison === "due" && now >= expiresAt ? generatedAt : walkedUntil;
  return { from, to: Math.min(now, expiresAt) };
}

/** Holds an open signal, and its controls once they are due, against what was seen. */
export const settle = internalMutation({
  args: { signalId: v.id("signals"), seen: v.array(vStretch) },
  returns: v.null(),
  handler: async (ctx, { signalId, seen }) => {
    const now = Date.now();
    const signal = await ctx.db.get("signals", signalId);
    if (signal === null) return null;
    if (signal.status === "PENDING") await settleOutcome(ctx, signal, { seen, now });
    if (signal.comparison === "due") await settleComparison(ctx, signal, { seen, now });
    await completeDay(ctx, signal.day);
    return null;
  },
});

type Sight = { seen: readonly Stretch[]; now: number };

async function settleOutcome(ctx: MutationCtx, signal: Doc<"signals">, { seen, now }: Sight): Promise<void> {
  const { walkedUntil: since, gapMinutes: earlierGaps } = signal;
  const outcome = outcomeOf(signal, { seen, since, earlierGaps, now });
  if (outcome !== null) return closeSignal(ctx, signal, outcome);
  const walked = walkedOn(signal, seen);
  if (walked !== null) await ctx.db.patch("signals", signal._id, walked);
}

async function settleComparison(
  ctx: MutationCtx,
  signal: Doc<"signals">,
  { seen, now }: Sight,
): Promise<void> {
  const position = positionOf(signal);
  if (position === null) return;
  const { generatedAt, expiresAt } = signal;
  const isPatchy = hasGaps(uncoveredMinutes(seen, generatedAt, expiresAt));
  if (isPatchy && now < expiresAt + PATIENCE_MS) return;
  const compared = comparisonOf({ position, generatedAt, expiresAt }, { seen, now });
  if (compared !== null) await keepComparison(ctx, signal, compared);
}
