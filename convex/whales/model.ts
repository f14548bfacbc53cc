import type { Infer } from "convex/values";
import { parse } from "convex-helpers/validators";
import type { Doc } from "../_generated/dataModel";
import type { QueryCtx } from "../_generated/server";
import { vPublicAlert } from "./validators";
import { rowsBy } from "../lib/records/rows";

/** The alerts that are shown, from both sources. */

/** The most alerts in one answer of the service; the newest ones. */
const MAX_LISTED = 500;

/** Alerts since a moment (epoch ms), newest first. */
export async function latestAlerts(
  ctx: QueryCtx,
  since: number,
  limit = MAX_LISTED,
): Promise<Doc<"whaleAlerts">[]> {
  return ctx.db
    .query("whaleAlerts")
    .withIndex("by_detectedAt", (q) => q.gte("detectedAt", since))
    .order("desc")
    .take(limit);
}

/** An alert as callers see it: only the fields of its validator. */
export function publicAlert(alert: Doc<"whaleAlerts">): Infer<typeof vPublicAlert> {
  const source = alert.movement === undefined ? "agent-reported" : "measured";
  return parse(vPublicAlert, { ...alert, source });
}

/** Whether any question about whales has ended, or the chain is being read: before that, the absence of alerts means nothing. */
export async function hasLooked(ctx: QueryCtx): Promise<boolean> {
  const cursor = await ctx.db.query("whaleCursors").first();
  if (cursor !== null) return true;
  const done = await rowsBy(ctx.db.query("whaleWatches"), "state", "done").first();
  return done !== null;
}
