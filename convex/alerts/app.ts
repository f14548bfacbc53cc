import { v } from "convex/values";
import { internal } from "../_generated/api";
import { action, mutation, query } from "../_generated/server";
import { charge } from "../lib/limits/charges";
import { requireUser } from "../users/model";
import type { Proposed } from "./desk";
import { confirm, ownAlert, switchOff, vAlert } from "./model";
import { everythingOf, vEverything } from "./proposals";
import { vReplay } from "./history/replays";
import { endSink, vSink, type Sink } from "./webhooks/rows";

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

/** The user's alerts and webhooks. */
export const mine = query({
  args: {},
  returns: vEverything,
  handler: async (ctx) => everythingOf(ctx, (await requireUser(ctx)).userId),
});

/** Adds a webhook; the secret is told this once. @throws AppError as `sinks.addSink` does; `rate_limited`. */
export const addWebhook = action({
  args: { url: v.string() },
  returns: v.object({ webhook: vSink, secret: v.string() }),
  handler: async (ctx, { url }): Promise<{ webhook: Sink; secret: string }> => {
    const userId: string = await ctx.runQuery(internal.users.access.mine, {});
    await charge(ctx, "settings", { userId, address: null });
    const { addSink } = await import("./webhooks/desk");
    const { secret, ...webhook } = await addSink(ctx, userId, url);
    return { webhook, secret };
  },
});

/** Ends a webhook. @throws AppError `not_found` for none of the user's. */
export const endWebhook = mutation({
  args: { webhookId: v.string() },
  returns: vSink,
  handler: async (ctx, { webhookId }) => endSink(ctx, (await requireUser(ctx)).userId, webhookId),
});
