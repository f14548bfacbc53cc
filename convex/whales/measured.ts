import { v } from "convex/values";
import { internalQuery, type MutationCtx } from "../_generated/server";
import { NEVER } from "../lib/time";
import { type Measured, vPublicAlert } from "./tables";
import { publicAlert } from "./views";

/** The alerts that were measured on the chain. One movement is one row, whatever blocks its transaction goes through. */

/** Alerts of one transaction that are looked at. */
const OF_ONE = 50;
/** Alerts withdrawn per transaction of the database's. */
const BATCH = 500;

/**
 * Stores movements, each once: by its transaction and its place in it. One that is known keeps its row and takes on the
 * block it is in now. It takes the place of what the agent told of the same transaction and token.
 */
export async function storeMeasured(
  ctx: MutationCtx,
  movements: readonly Measured[],
  now: number,
): Promise<void> {
  for (const one of movements) {
    const rows = await ctx.db
      .query("whaleAlerts")
      .withIndex("by_txHash", (q) => q.eq("txHash", one.txHash))
      .take(OF_ONE);
    const known = rows.find(({ movement }) => movement?.position === one.movement.position);
    if (known?.movement?.blockHash === one.movement.blockHash && known.withdrawnAt === undefined) continue;
    const same = known ?? rows.find(({ movement, token }) => movement === undefined && token === one.token);
    const fields = {
      ...one,
      ...{ verified: true, checkAt: NEVER, blockNumber: one.movement.blockNumber, withdrawnAt: undefined },
    };
    if (same !== undefined) await ctx.db.patch("whaleAlerts", same._id, fields);
    else {
      const { withdrawnAt: _none, ...row } = fields;
      await ctx.db.insert("whaleAlerts", {
        ...row,
        ...{ detectedAt: now, messengerSent: false, checks: 0, cardHour: 0 },
      });
    }
  }
}

/** Withdraws what was found in blocks behind one. A later reading that finds it again takes that back. */
export async function withdrawAfter(
  ctx: MutationCtx,
  blockNumber: number,
  now: number,
): Promise<{ withdrawn: number; isDone: boolean }> {
  const rows = await ctx.db
    .query("whaleAlerts")
    .withIndex("by_withdrawnAt_and_blockNumber", (q) =>
      q.eq("withdrawnAt", undefined).gt("blockNumber", blockNumber),
    )
    .take(BATCH);
  for (const { _id } of rows) await ctx.db.patch("whaleAlerts", _id, { withdrawnAt: now });
  return { withdrawn: rows.length, isDone: rows.length < BATCH };
}

/**
 * A page of the measured alerts, by their blocks, the latest first.
 * @param before Alerts in blocks below this one; every block where it is left out. Of one block all are on one page.
 * @returns `next`: what `before` is for the next page; `null` behind the last.
 */
export const page = internalQuery({
  args: { before: v.optional(v.number()), limit: v.number() },
  returns: v.object({ alerts: v.array(vPublicAlert), next: v.union(v.number(), v.null()) }),
  handler: async (ctx, { before, limit }) => {
    const rows = await ctx.db
      .query("whaleAlerts")
      .withIndex("by_withdrawnAt_and_blockNumber", (q) => {
        const measured = q.eq("withdrawnAt", undefined).gte("blockNumber", 0);
        return before === undefined ? measured : measured.lt("blockNumber", before);
      })
      .order("desc")
      .take(limit);
    const last = rows.length < limit ? undefined : rows.at(-1)?.blockNumber;
    if (last === undefined) return { alerts: rows.map(publicAlert), next: null };
    const ofLast = await ctx.db
      .query("whaleAlerts")
      .withIndex("by_withdrawnAt_and_blockNumber", (q) =>
        q.eq("withdrawnAt", undefined).eq("blockNumber", last),
      )
      .order("desc")
      .take(BATCH);
    const whole = [...rows.filter(({ blockNumber }) => blockNumber !== last), ...ofLast];
    return { alerts: whole.map(publicAlert), next: last };
  },
});
