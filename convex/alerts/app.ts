import { v } from "convex/values";
import { internal } from "../_generated/api";
import { action, mutation, query } from "../_generated/server";
import { charge } from "../lib/limits/charges";
import { requireUser } from "../users/model";
import type { Proposed } from "./desk";
import { alertsOf, confirm, ownAlert, switchOff, vAlert } from "./model";
import { vReplay } from "./history/replays";

/** Alerts as the web application sets them. Every function is about the signed-in user alone. */

/**
 * Reads an alert from the user's words, and keeps it as a proposal. For whatever fits no phrase a model is asked.
 * @throws AppError `invalid_request`, saying what to say instead; `rate_limited`.
 */
export const propose = action({
  args: { text: v.string() },
  returns: v.object({ alert: vAlert, replay: vReplay }),
  handler: async (ctx, { text }): Promise<Proposed> => {
    const userId: string = await ctx.runQuery(internal.users.access.mine, {});
    const caller = { userId, address: null, signedIn: true };
    await charge(ctx, "alert", caller);
    const { proposeAlert } = await import("./desk");
    return proposeAlert(ctx, { caller, userId, text });
  },
});

/** Switches a proposal on, or an active one on for another 90 days. @throws AppError `not_found`; `conflict` with twenty active ones. */
export const accept = mutation({
  args: { alertId: v.string() },
  returns: vAlert,
  handler: async (ctx, { alertId }) => {
    const { userId } = await requireUser(ctx);
    return confirm(ctx, await ownAlert(ctx, userId, alertId), null);
  },
});

/** Switches an alert off, or drops a proposal. @throws AppError `not_found` for none of the user's. */
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
