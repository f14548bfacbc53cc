import { v } from "convex/values";
import { mutation, query } from "../../_generated/server";
import { requireUser } from "../../users/model";
import { webhooksOf } from "./events";
import { endWebhook, shown, vWebhook } from "./rows";

/** Webhooks in the web application; `messenger/webhooks/desk:add` adds one. Every function concerns only the signed-in user. */

/** Ends a webhook. @throws AppError `not_found` unless it is the user's. */
export const end = mutation({
  args: { webhookId: v.string() },
  returns: vWebhook,
  handler: async (ctx, { webhookId }) => endWebhook(ctx, (await requireUser(ctx)).userId, webhookId),
});

export const mine = query({
  args: {},
  returns: v.array(vWebhook),
  handler: async (ctx) => (await webhooksOf(ctx, (await requireUser(ctx)).userId)).map(shown),
});
