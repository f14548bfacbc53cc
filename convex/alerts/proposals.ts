import { v } from "convex/values";
import { internalMutation, internalQuery } from "../_generated/server";
import { change } from "../lib/changes";
import { inState, MOST_ACTIVE } from "./allowances";
import {
  alertsOf,
  confirm,
  findAlert,
  nextNumber,
  ownAlert,
  propose,
  switchOff,
  vAlert,
  vProposal,
} from "./model";
import { vCondition } from "./validators";

/** From a person's words to an alert: read, replayed, kept as a proposal, confirmed. */

export const keep = internalMutation({
  args: vProposal,
  returns: vAlert,
  handler: propose,
});

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
    const firing =
      row === null
        ? null
        : await ctx.db
            .query("alertFirings")
            .withIndex("by_alertId_and_observedAt", (q) => q.eq("alertId", row._id))
            .order("desc")
            .first();
    if (row === null || firing === null) return null;
    const token = row.condition.kind === "digest" ? null : row.condition.token;
    return { observedAt: firing.observedAt, token };
  },
});

/** @throws AppError as `model.confirm` does; `not_found` if the user has no such alert. */
export const accept = internalMutation({
  args: { userId: v.string(), alertId: v.string(), address: v.union(v.string(), v.null()) },
  returns: vAlert,
  handler: async (ctx, { userId, alertId, address }) =>
    confirm(ctx, await ownAlert(ctx, userId, alertId), address),
});

/** Moves the active alerts of a chat to its user when the chat is linked, as far as the user may have so many. */
export const adopt = change({ from: v.string(), to: v.string() }, async (ctx, { from, to }) => {
  const room = MOST_ACTIVE - (await inState(ctx, to, "active").take(MOST_ACTIVE)).length;
  for (const { _id } of await inState(ctx, from, "active").take(room))
    await ctx.db.patch("alerts", _id, { userId: to, number: await nextNumber(ctx, to) });
});

/** @throws AppError `not_found` if the user has no such alert. */
export const end = internalMutation({
  args: { userId: v.string(), alertId: v.string() },
  returns: vAlert,
  handler: async (ctx, { userId, alertId }) => switchOff(ctx, await ownAlert(ctx, userId, alertId)),
});

/** A user's alerts. */
export const all = internalQuery({
  args: { userId: v.string() },
  returns: v.array(vAlert),
  handler: (ctx, { userId }) => alertsOf(ctx, userId),
});
