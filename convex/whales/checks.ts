import { v } from "convex/values";
import { isHash } from "viem";
import { internal } from "../_generated/api";
import { internalMutation, type MutationCtx } from "../_generated/server";
import { failureOf } from "../lib/errors";
import { log } from "../lib/log";
import { providerAction } from "../lib/providerCalls";
import { MINUTE } from "../lib/time";
import { receiptStates } from "../providers/chainReceipts";
import { NEVER } from "./tables";

/**
 * Asks the chain whether the transactions that alerts name exist. A confirmed one makes its alert `verified`: there is
 * a successful transaction with this hash; what it moved is still the agent's word. A hash of another chain never is.
 */

/** How long after each fruitless check the next one is; behind the last there is none. */
const NEXT_CHECK_MS = [MINUTE, 5 * MINUTE, 30 * MINUTE];
/** Transactions per round trip. */
const BATCH = 30;

/** Schedules a check when one is due. Too many do no harm: each begins by claiming. */
export async function scheduleDueChecks(ctx: MutationCtx, now: number): Promise<void> {
  const due = await ctx.db
    .query("whaleAlerts")
    .withIndex("by_checkAt", (q) => q.lte("checkAt", now))
    .first();
  if (due !== null) await ctx.scheduler.runAfter(0, internal.whales.checks.run, {});
}

/** Checks a batch of due transactions. When the chain cannot be asked, their next check does. */
export const run = providerAction({
  args: {},
  returns: v.null(),
  handler: async (ctx) => {
    const due = await ctx.runMutation(internal.whales.checks.claim, {});
    const wanted = due.flatMap(({ alertId, txHash }) => (isHash(txHash) ? [{ alertId, txHash }] : []));
    if (wanted.length === 0) return null;
    try {
      const states = await receiptStates(wanted.map(({ txHash }) => txHash));
      const checked = wanted.flatMap(({ alertId }, i) => {
        const state = states[i];
        return state === undefined ? [] : [{ alertId, state }];
      });
      await ctx.runMutation(internal.whales.checks.settle, { checked });
    } catch (error) {
      const failure = failureOf(error);
      if (failure === null) throw error;
      log.warn("whales.unchecked", { transactions: wanted.length, reason: failure.message });
    }
    return null;
  },
});

/** Takes due checks, setting the next one of each. */
export const claim = internalMutation({
  args: {},
  returns: v.array(v.object({ alertId: v.id("whaleAlerts"), txHash: v.string() })),
  handler: async (ctx) => {
    const now = Date.now();
    const due = await ctx.db
      .query("whaleAlerts")
      .withIndex("by_checkAt", (q) => q.lte("checkAt", now))
      .take(BATCH);
    for (const { _id, checks } of due) {
      const next = NEXT_CHECK_MS[checks];
      await ctx.db.patch("whaleAlerts", _id, {
        checks: checks + 1,
        checkAt: next === undefined ? NEVER : now + next,
      });
    }
    return due.flatMap(({ _id, txHash }) => (txHash === undefined ? [] : [{ alertId: _id, txHash }]));
  },
});

/** Notes what the chain said; an absent transaction may still be mined, or appear on a node that lags. */
export const settle = internalMutation({
  args: {
    checked: v.array(
      v.object({
        alertId: v.id("whaleAlerts"),
        state: v.union(v.literal("succeeded"), v.literal("reverted"), v.literal("absent")),
      }),
    ),
  },
  returns: v.null(),
  handler: async (ctx, { checked }) => {
    for (const { alertId, state } of checked) {
      if (state === "absent" || (await ctx.db.get("whaleAlerts", alertId)) === null) continue;
      await ctx.db.patch("whaleAlerts", alertId, { verified: state === "succeeded", checkAt: NEVER });
    }
    return null;
  },
});
