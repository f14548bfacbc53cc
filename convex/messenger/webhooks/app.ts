import { v } from "convex/values";
import { internal } from "../../_generated/api";
import { action, mutation, query } from "../../_generated/server";
import { charge } from "../../lib/limits/charges";
import { requireUser } from "../../users/model";
import { webhooksOf } from "./events";
import { endWebhook, shown, vWebhook, type Webhook } from "./rows";
import { vEventType } from "./tables";

/** Webhooks as the web application sets them. Every function is about the signed-in user alone. */

/** Adds a webhook, for all events unless some are named; the secret is told this once. @throws AppError as `desk.addWebhook` does; `rate_limited`. */
export const add = action({
  args: { url: v.string(), events: v.optional(v.array(vEventType)) },
  returns: v.object({ webhook: vWebhook, secret: v.string() }),
  handler: async (ctx, wanted): Promise<{ webhook: Webhook; secret: string }> => {
    const userId: string = await ctx.runQuery(internal.users.access.mine, {});
    await charge(ctx, "settings", { userId, address: null });
    const { addWebhook } = await import("./desk");
    return addWebhook(ctx, { ...wanted, userId });
  },
});

/** Ends a webhook. @throws AppError `not_found` for none of the user's. */
export const end = mutation({
  args: { webhookId: v.string() },
  returns: vWebhook,
  handler: async (ctx, { webhookId }) => endWebhook(ctx, (await requireUser(ctx)).userId, webhookId),
});

/** The user's webhooks. */
export const mine = query({
  args: {},
  returns: v.array(vWebhook),
  handler: async (ctx) => (await webhooksOf(ctx, (await requireUser(ctx)).userId)).map(shown),
});
