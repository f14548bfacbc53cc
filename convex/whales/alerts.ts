import { v } from "convex/values";
import { internalMutation, internalQuery } from "../_generated/server";
import { enqueueOwnCard } from "../messenger/notices";
import { alertCard, lastHours } from "./cards";
import { latestAlerts, publicAlert } from "./model";
import { vPublicAlert } from "./validators";

/** Alerts since a moment (epoch ms), newest first, at most `limit`, or 500. */
export const since = internalQuery({
  args: { since: v.number(), limit: v.optional(v.number()) },
  returns: v.array(vPublicAlert),
  handler: async (ctx, { since, limit }) => {
    return (await latestAlerts(ctx, since, limit)).map(publicAlert);
  },
});

/** Queues a card of the last hours' alerts for a user's messenger; `null` if it is not queued. */
export const send = internalMutation({
  args: { userId: v.string(), hours: v.number(), since: v.number() },
  returns: v.union(v.id("messages"), v.null()),
  handler: async (ctx, { userId, hours, since }) => {
    const alerts = await latestAlerts(ctx, since);
    return enqueueOwnCard(ctx, {
      userId,
      kind: "requested whale alerts",
      paragraphs: alertCard({ window: lastHours(hours), at: Date.now(), alerts: alerts.map(publicAlert) }),
    });
  },
});

/** More measured alerts than one block has. */
const PAGE = 500;

/** The measured alerts in blocks below `before`, the latest first; `next` is `before` of the next page, `null` after the last. */
export const page = internalQuery({
  args: { before: v.number() },
  returns: v.object({ alerts: v.array(vPublicAlert), next: v.union(v.number(), v.null()) }),
  handler: async (ctx, { before }) => {
    const rows = await ctx.db
      .query("whaleAlerts")
      .withIndex("by_blockNumber", (q) => q.gte("blockNumber", 0).lt("blockNumber", before))
      .order("desc")
      .take(PAGE);
    // The alerts of one block are on one page.
    const cut = rows.length < PAGE ? undefined : rows.at(-1)?.blockNumber;
    const whole = rows.filter(({ blockNumber }) => blockNumber !== cut);
    return { alerts: whole.map(publicAlert), next: cut === undefined ? null : cut + 1 };
  },
});
