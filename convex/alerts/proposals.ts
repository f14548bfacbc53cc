import { v } from "convex/values";
import { internal } from "../_generated/api";
import { internalMutation, internalQuery } from "../_generated/server";
import { change } from "../lib/changes";
import { rowsBy } from "../lib/records/rows";
import {
  alertsOf,
  confirm,
  findAlert,
  moveAlerts,
  ownAlert,
  propose,
  switchOff,
  vAlert,
  vProposal,
} from "./model";
import { vCondition } from "./validators";

/** Alerts as actions read and change them. */

export const keep = internalMutation({ args: vProposal, returns: vAlert, handler: propose });

/** An alert's condition; `null` if the alert no longer exists. */
export const condition = internalQuery({
  args: { alertId: v.string() },
  returns: v.union(vCondition, v.null()),
  handler: async (ctx, { alertId }) => {
    const id = ctx.db.normalizeId("alerts", alertId);
    return (id === null ? null : await ctx.db.get("alerts", id))?.condition ?? null;
  },
});

/** When an alert of the user last fired, by its source, and for which coin; `null` if none has fired. */
export const lastFiring = internalQuery({
  args: { userId: v.string(), alertId: v.string() },
  returns: v.union(v.object({ observedAt: v.number(), token: v.union(v.string(), v.null()) }), v.null()),
  handler: async (ctx, { userId, alertId }) => {
    const row = await findAlert(ctx, userId, alertId);
    if (row === null) return null;
    const firing = await ctx.db
      .query("alertFirings")
      .withIndex("by_alertId_and_observedAt", (q) => q.eq("alertId", row._id))
      .order("desc")
      .first();
    const token = row.condition.kind === "digest" ? null : row.condition.token;
    return firing === null ? null : { observedAt: firing.observedAt, token };
  },
});

const vOne = { userId: v.string(), alertId: v.string() };

/** @throws AppError as `model.confirm` does; `not_found` if the user has no such alert. */
export const accept = internalMutation({
  args: vOne,
  returns: vAlert,
  handler: async (ctx, { userId, alertId }) => confirm(ctx, await ownAlert(ctx, userId, alertId)),
});

/** @throws AppError `not_found` if the user has no such alert. */
export const end = internalMutation({
  args: vOne,
  returns: vAlert,
  handler: async (ctx, { userId, alertId }) => switchOff(ctx, await ownAlert(ctx, userId, alertId)),
});

/** A user's alerts. */
export const all = internalQuery({
  args: { userId: v.string() },
  returns: v.array(vAlert),
  handler: (ctx, { userId }) => alertsOf(ctx, userId),
});

const MOVED_AT_ONCE = 500;

/** What a chat had is its user's when the chat is linked: alerts, proposals, and what has fired. */
export const adopt = change({ from: v.string(), to: v.string() }, async (ctx, { from, to }) => {
  await moveAlerts(ctx, from, to);
  const firings = await rowsBy(ctx.db.query("alertFirings"), "userId", from).take(MOVED_AT_ONCE);
  for (const { _id } of firings) await ctx.db.patch("alertFirings", _id, { userId: to });
  if (firings.length === MOVED_AT_ONCE)
    await ctx.scheduler.runAfter(0, internal.alerts.proposals.adopt, { from, to });
});
