import { v } from "convex/values";
import { internalMutation, internalQuery } from "../_generated/server";
import { enqueueOwnCard } from "../messenger/notices";
import { alertCard, lastHours } from "./cards";
import { latestAlerts, publicAlert } from "./model";
import { vPublicAlert } from "./validators";
import { rowsBy } from "../lib/records/rows";

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
const OF_ONE_BLOCK = 500;

/**
 * A page of the measured alerts, by block, the latest first.
 * @param before Only alerts in blocks below this one; by default all. The alerts of one block are on one page.
 * @returns `next`: `before` of the next page; `null` after the last.
 */
export const page = internalQuery({
  args: { before: v.optional(v.number()), limit: v.number() },
  returns: v.object({ alerts: v.array(vPublicAlert), next: v.union(v.number(), v.null()) }),
  handler: async (ctx, { before, limit }) => {
    const rows = await ctx.db
      .query("whaleAlerts")
      .withIndex("by_blockNumber", (q) => {
        const measured = q.gte("blockNumber", 0);
        return before === undefined ? measured : measured.lt("blockNumber", before);
      })
      .order("desc")
      .take(limit);
    const last = rows.length < limit ? undefined : rows.at(-1)?.blockNumber;
    if (last === undefined) return { alerts: rows.map(publicAlert), next: null };
    const ofLast = await rowsBy(ctx.db.query("whaleAlerts"), "blockNumber", last)
      .order("desc")
      .take(OF_ONE_BLOCK);
    const whole = [...rows.filter(({ blockNumber }) => blockNumber !== last), ...ofLast];
    return { alerts: whole.map(publicAlert), next: last };
  },
});
