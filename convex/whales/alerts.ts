import { v } from "convex/values";
import { internalMutation, internalQuery } from "../_generated/server";
import { enqueueRequestedCard } from "../messenger/requested";
import { alertCard } from "./cards";
import { alertsSince, latestAlerts } from "./model";
import { vPublicAlert } from "./tables";
import { publicAlert } from "./views";

/** Alerts since a moment (epoch ms), newest first, at most `limit`, or 500. */
export const since = internalQuery({
  args: { since: v.number(), limit: v.optional(v.number()) },
  returns: v.array(vPublicAlert),
  handler: async (ctx, { since, limit }) => {
    const alerts = await (limit === undefined ? alertsSince(ctx, since) : latestAlerts(ctx, since, limit));
    return alerts.map(publicAlert);
  },
});

/** Queues a card of the last hours' alerts for a user's messenger; `null` when it is not. */
export const send = internalMutation({
  args: { userId: v.string(), hours: v.number(), since: v.number() },
  returns: v.union(v.id("messages"), v.null()),
  handler: async (ctx, { userId, hours, since }) => {
    const alerts = await alertsSince(ctx, since);
    return enqueueRequestedCard(ctx, {
      userId,
      kind: "requested whale alerts",
      paragraphs: alertCard({ hours, at: Date.now(), alerts: alerts.map(publicAlert) }),
    });
  },
});
