import { v, type Infer } from "convex/values";
import { parse } from "convex-helpers/validators";
import { internal } from "../../_generated/api";
import type { Id } from "../../_generated/dataModel";
import { internalQuery, type MutationCtx } from "../../_generated/server";
import { change } from "../../lib/changes";
import { open } from "../../lib/work/jobs";
import { vReported } from "../tables";

/**
 * Asks the chain about the transactions that the agent's alerts name. An alert is `verified` if the transaction agrees:
 * it succeeded, at the alert's time, and moved the token and about the amount. A hash of another chain never is.
 */

/** A transaction may be mined later than it is reported, and a node may lag. */
const ATTEMPTS = 4;

/** Has the transactions of an answer's alerts looked up. */
export async function check(ctx: MutationCtx, alertIds: readonly Id<"whaleAlerts">[]): Promise<void> {
  if (alertIds.length === 0) return;
  await open(ctx, internal.whales.agent.desk.check, { alertIds: [...alertIds] }, { attempts: ATTEMPTS });
}

/** The parts of an agent's alert that the chain can confirm. */
const vChecked = vReported
  .pick("token", "amount", "occurredAt", "txHash")
  .extend({ alertId: v.id("whaleAlerts"), detectedAt: v.number() });
export type Checked = Infer<typeof vChecked>;

/** Those of some alerts that are not confirmed. A movement that was measured meanwhile needs no confirmation. */
export const unconfirmed = internalQuery({
  args: { alertIds: v.array(v.id("whaleAlerts")) },
  returns: v.array(vChecked),
  handler: async (ctx, { alertIds }) => {
    const rows = await Promise.all(alertIds.map((alertId) => ctx.db.get("whaleAlerts", alertId)));
    return rows.flatMap((row) =>
      row === null || row.verified ? [] : [parse(vChecked, { ...row, alertId: row._id })],
    );
  },
});

/** Stores that the chain agrees with alerts. */
export const confirm = change({ alertIds: v.array(v.id("whaleAlerts")) }, async (ctx, { alertIds }) => {
  for (const alertId of alertIds) await ctx.db.patch("whaleAlerts", alertId, { verified: true });
});
