import { v } from "convex/values";
import { mutation, query } from "../_generated/server";
import { requireUser } from "../users/model";
import { alertsOf, confirm, ownAlert, switchOff, vAlert } from "./model";

/** Alerts as the web application sets them, once `alerts/desk:propose` has read them. Every function is about the signed-in user alone. */

/** Switches a proposal on, or an active one on for another 90 days. @throws AppError `not_found`; `conflict` with twenty active ones. */
export const accept = mutation({
  args: { alertId: v.string() },
  returns: vAlert,
  handler: async (ctx, { alertId }) => {
    const { userId } = await requireUser(ctx);
    return confirm(ctx, await ownAlert(ctx, userId, alertId));
  },
});

/** Switches an alert off, or drops a proposal. @throws AppError `not_found` if the user has no such alert. */
export const end = mutation({
  args: { alertId: v.string() },
  returns: vAlert,
  handler: async (ctx, { alertId }) => {
    const { userId } = await requireUser(ctx);
    return switchOff(ctx, await ownAlert(ctx, userId, alertId));
  },
});

/** The user's alerts. */
export const mine = query({
  args: {},
  returns: v.array(vAlert),
  handler: async (ctx) => alertsOf(ctx, (await requireUser(ctx)).userId),
});
