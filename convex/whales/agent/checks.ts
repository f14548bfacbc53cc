import { v, type Infer } from "convex/values";
import { parse } from "convex-helpers/validators";
import { internal } from "../../_generated/api";
import { internalMutation, type MutationCtx } from "../../_generated/server";
import { change } from "../../lib/changes";
import { rowsDue } from "../../lib/records/rows";
import { MINUTE, NEVER } from "../../lib/time";
import { end, open, rest, underWay, vJob, wake, workOn } from "../../lib/work/jobs";
import { vReported } from "../tables";

/**
 * Asks the chain about the transactions that the agent's alerts name. An alert is `verified` if the transaction agrees:
 * it succeeded, at the alert's time, and moved the token and about the amount. A hash of another chain never is.
 */

/** The pauses after fruitless checks; after the last there is none. */
const NEXT_CHECK_MS = [MINUTE, 5 * MINUTE, 30 * MINUTE];
/** Transactions per round trip. */
const BATCH = 30;

/** The single piece of work that checks them, while there are any to check. */
const CHECKS = "whale checks";

/** Starts the due checks. */
export async function checkWhenDue(ctx: MutationCtx): Promise<void> {
  const work = await workOn(ctx, CHECKS);
  if (work !== null) return wake(ctx, { workId: work._id, attempt: work.attempt });
  const due = await nextCheckAt(ctx);
  if (due !== null) await open(ctx, internal.whales.agent.desk.check, {}, { subject: CHECKS });
}

async function nextCheckAt(ctx: MutationCtx): Promise<number | null> {
  const next = await rowsDue(ctx.db.query("whaleAlerts"), "checkAt", NEVER - 1).first();
  return next?.checkAt ?? null;
}

/** The parts of an agent's alert that the chain can confirm. */
const vChecked = vReported
  .pick("token", "amount", "occurredAt", "txHash")
  .extend({ alertId: v.id("whaleAlerts"), detectedAt: v.number() });
export type Checked = Infer<typeof vChecked>;

/** Takes due checks, schedules the next one of each, and rests until the first of those. */
export const claim = internalMutation({
  args: { job: vJob },
  returns: v.array(vChecked),
  handler: async (ctx, { job }) => {
    if ((await underWay(ctx, job)) === null) return [];
    const now = Date.now();
    const due = await rowsDue(ctx.db.query("whaleAlerts"), "checkAt", now).take(BATCH);
    for (const { _id, checks } of due) {
      const next = NEXT_CHECK_MS[checks];
      await ctx.db.patch("whaleAlerts", _id, {
        checks: checks + 1,
        checkAt: next === undefined ? NEVER : now + next,
      });
    }
    const next = await nextCheckAt(ctx);
    if (next === null) await end(ctx, job);
    else await rest(ctx, job, Math.max(0, next - now));
    return due.map((row) => parse(vChecked, { ...row, alertId: row._id }));
  },
});

/** Stores the chain's answers. Absent transactions are not among them: they may be mined later, or the node lags. */
export const settle = change(
  { checked: v.array(v.object({ alertId: v.id("whaleAlerts"), verified: v.boolean() })) },
  async (ctx, { checked }) => {
    for (const { alertId, verified } of checked) {
      const row = await ctx.db.get("whaleAlerts", alertId);
      // A movement that was measured meanwhile needs no confirmation.
      if (row === null || row.movement !== undefined) continue;
      await ctx.db.patch("whaleAlerts", alertId, { verified, checkAt: NEVER });
    }
  },
);
