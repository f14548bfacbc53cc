import type { Doc, Id } from "../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../_generated/server";
import { HOUR } from "../lib/time";
import { NEVER, type Reported } from "./tables";

/** How far back an alert may be the same as a new one. */
const SAME_WITHIN_MS = 6 * HOUR;
/** Two tellings of one movement put its worth this close together, as a share of the larger. */
const SAME_AMOUNT = 0.1;
/** Alerts of one token and type looked at for a duplicate; more than six hours of full answers hold. */
const LOOK_AT = 250;

/** The most alerts one answer of the service holds, the newest ones. */
export const MAX_LISTED = 500;

/**
 * Stores what is new and merges what is known. Two alerts are the same movement when, within six hours, they name the
 * same token and the same transaction; or when at most one of them names a transaction, and token, type and (within
 * 10 %) amount agree. A known alert keeps its first telling and only takes on a transaction it lacked.
 */
export async function storeAlerts(
  ctx: MutationCtx,
  watchId: Id<"whaleWatches">,
  alerts: readonly Reported[],
  now: number,
): Promise<{ stored: Doc<"whaleAlerts">[]; merged: number }> {
  const stored: Doc<"whaleAlerts">[] = [];
  for (const alert of alerts) {
    const known = await findSame(ctx, alert, now - SAME_WITHIN_MS);
    if (known === null) {
      const alertId = await ctx.db.insert("whaleAlerts", {
        ...alert,
        detectedAt: now,
        watchId,
        messengerSent: false,
        verified: false,
        checks: 0,
        checkAt: alert.txHash === undefined ? NEVER : now,
      });
      const row = await ctx.db.get("whaleAlerts", alertId);
      if (row !== null) stored.push(row);
    } else if (known.txHash === undefined && alert.txHash !== undefined) {
      await ctx.db.patch("whaleAlerts", known._id, { txHash: alert.txHash, checkAt: now });
    }
  }
  return { stored, merged: alerts.length - stored.length };
}

async function findSame(ctx: QueryCtx, alert: Reported, since: number): Promise<Doc<"whaleAlerts"> | null> {
  const { txHash } = alert;
  if (txHash !== undefined) {
    const sameHash = await ctx.db
      .query("whaleAlerts")
      .withIndex("by_txHash", (q) => q.eq("txHash", txHash))
      .order("desc")
      .take(10);
    const same = sameHash.find(({ token, detectedAt }) => token === alert.token && detectedAt >= since);
    if (same !== undefined) return same;
  }
  const alike = await ctx.db
    .query("whaleAlerts")
    .withIndex("by_token_and_alertType", (q) =>
      q.eq("token", alert.token).eq("alertType", alert.alertType).gte("detectedAt", since),
    )
    .order("desc")
    .take(LOOK_AT);
  return alike.find((one) => isSame(one, alert)) ?? null;
}

function isSame(one: Reported, other: Reported): boolean {
  if (one.txHash !== undefined && other.txHash !== undefined) return false;
  const larger = Math.max(one.amount, other.amount);
  return Math.abs(one.amount - other.amount) <= larger * SAME_AMOUNT;
}

/** Alerts since a moment (epoch ms), newest first, at most `MAX_LISTED`. */
export async function alertsSince(ctx: QueryCtx, since: number): Promise<Doc<"whaleAlerts">[]> {
  return ctx.db
    .query("whaleAlerts")
    .withIndex("by_detectedAt", (q) => q.gte("detectedAt", since))
    .order("desc")
    .take(MAX_LISTED);
}
