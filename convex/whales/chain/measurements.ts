import type { MutationCtx } from "../../_generated/server";
import { rowsBy } from "../../lib/records/rows";
import { familyOf } from "../coins";
import type { Measured } from "../tables";

/** The alerts that were measured on the chain. One movement is one row. */

const OF_ONE = 50;

/**
 * Stores movements, each once: by its transaction and its place in it. It replaces the agent's alert about the same transaction and coin.
 */
export async function storeMeasured(
  ctx: MutationCtx,
  movements: readonly Measured[],
  now: number,
): Promise<void> {
  for (const one of movements) {
    const rows = await rowsBy(ctx.db.query("whaleAlerts"), "txHash", one.txHash).take(OF_ONE);
    if (rows.some(({ movement }) => movement?.position === one.movement.position)) continue;
    const same = rows.find(
      ({ movement, token }) => movement === undefined && familyOf(token) === familyOf(one.token),
    );
    const fields = { ...one, verified: true, blockNumber: one.movement.blockNumber };
    if (same !== undefined) await ctx.db.patch("whaleAlerts", same._id, fields);
    else
      await ctx.db.insert("whaleAlerts", { ...fields, detectedAt: now, messengerSent: false, cardHour: 0 });
  }
}
