import { v } from "convex/values";
import { internal } from "../_generated/api";
import { action, mutation, query } from "../_generated/server";
import { charge } from "../lib/limits";
import { requireUser } from "../users/model";
import { alertsOf, cancelAlert as cancelOne } from "./alertRows";
import { createAlert as createOne } from "./alerts";
import { vAlert, vDirection, vPricedToken, type Alert } from "./tables";

/** Price alerts as the web application sets them. Every function is about the signed-in user alone. */

/**
 * Sets an alert: one message, the first time a price feed or ticker tells a price at the level or beyond it. Setting the
 * same again is the same alert.
 * @throws AppError `invalid_request` for a level that is no price or is crossed already, naming the live price;
 * `conflict` with ten active alerts; `rate_limited`; `upstream` when nothing but the model tells a price.
 */
export const createAlert = action({
  args: { token: vPricedToken, direction: vDirection, levelUsd: v.number() },
  returns: vAlert,
  handler: async (ctx, wish): Promise<Alert> => {
    const userId: string = await ctx.runQuery(internal.users.access.mine, {});
    await charge(ctx, "settings", { userId, address: null });
    return createOne(ctx, { userId, ...wish });
  },
});

/** The user's active alerts, newest first, then the latest that ended. */
export const alerts = query({
  args: {},
  returns: v.array(vAlert),
  handler: async (ctx) => alertsOf(ctx, (await requireUser(ctx)).userId),
});

/** Cancels an alert. @throws AppError `not_found` for none of the user's; `conflict` when it has fired. */
export const cancelAlert = mutation({
  args: { alertId: v.string() },
  returns: vAlert,
  handler: async (ctx, { alertId }) => cancelOne(ctx, (await requireUser(ctx)).userId, alertId),
});
