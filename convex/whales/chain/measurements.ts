import type { MutationCtx } from "../../_generated/server";
import { rowsBy } from "../../lib/records/rows";
import type { Measured } from "../tables";

/** The alerts that were measured on the chain. One movement is one row, whatever blocks contain its transaction. */

const OF_ONE = 50;
/** How many alerts are withdrawn per database transaction. */
const BATCH = 500;

/**
 * Stores movements, each once: by its transaction and its place in it. A known one keeps its row and gets its present
 * block. It replaces the agent's alert about the same transaction and token.
 */
export async function storeMeasured(
  ctx: MutationCtx,
  movements: readonly Measured[],
  now: number,
): Promise<void> {
  for (const one of movements) {
    const rows = await rowsBy(ctx.db.query("whaleAlerts"), "txHash", one.txHash).take(OF_ONE);
    const known = rows.find(({ movement }) => movement?.position === one.movement.position);
    if (known?.movement?.blockHash === one.movement.blockHash && known.withdrawnAt === undefined) continue;
    const same = known ?? rows.find(({ movement, token }) => movement === undefined && token === one.token);
    const fields = {
      ...one,
      ...{ verified: true, blockNumber: one.movement.blockNumber, withdrawnAt: undefined },
    };
    if (same !== undefined) await ctx.db.patch("whaleAlerts", same._id, fields);
    else {
      const { withdrawnAt: _none, ...row } = fields;
      await ctx.db.insert("whaleAlerts", {
        ...row,
        ...{ detectedAt: now, messengerSent: false, cardHour: 0 },
      });
    }
  }
}

/** Withdraws alerts of later blocks. A later reading that finds one again restores it. */
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
