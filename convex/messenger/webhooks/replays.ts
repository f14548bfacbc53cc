import { v } from "convex/values";
import type { Doc } from "../../_generated/dataModel";
import { internalMutation, internalQuery, type QueryCtx } from "../../_generated/server";
import { AppError } from "../../lib/errors";
import { NOBODY } from "../../lib/records/records";
import { DAY } from "../../lib/time";
import { messageIdOf, MOST_WAITING, post, webhooksOf } from "./events";
import { ownWebhook } from "./rows";
import { REPLAYED_DAYS, vEventType, type EventType } from "./tables";

/** Reading and resending the events of the last days. */

/** The most in one answer. */
const PAGE = 100;

const vNext = v.union(v.number(), v.null());

/** The events that a user's webhooks ask for, from a time on (epoch ms), oldest first. */
export const read = internalQuery({
  args: { userId: v.string(), since: v.number(), now: v.number() },
  returns: v.object({
    events: v.array(v.object({ id: v.string(), type: vEventType, timestamp: v.number(), data: v.string() })),
    next: vNext,
  }),
  handler: async (ctx, { userId, since, now }) => {
    const types = (await webhooksOf(ctx, userId)).flatMap(({ events }) => events);
    const { events, next } = await eventsSince(ctx, { userId, since, now, most: PAGE, types });
    return {
      events: events.map(({ _id, type, at: timestamp, data }) => {
        return { id: messageIdOf(_id), type, timestamp, data };
      }),
      next,
    };
  },
});

/**
 * Posts one event, or those that a webhook asks for from a time on, to it again: as many as may wait.
 * @throws AppError `not_found` for a webhook or an event that is not the user's, or too old; `conflict` for an ended
 * one.
 */
export const resend = internalMutation({
  args: { userId: v.string(), webhookId: v.string(), wanted: v.union(v.string(), v.number()) },
  returns: v.object({ count: v.number(), next: vNext }),
  handler: async (ctx, { userId, webhookId, wanted }) => {
    const webhook = await ownWebhook(ctx, userId, webhookId);
    if (webhook.state === "ended") throw new AppError("conflict", "This webhook has ended: add it again");
    const query = { now: Date.now(), most: MOST_WAITING, types: webhook.events };
    const found =
      typeof wanted === "string"
        ? { events: [await ownEvent(ctx, userId, wanted)], next: null }
        : await eventsSince(ctx, { userId, since: wanted, ...query });
    for (const { _id } of found.events) await post(ctx, webhook, _id);
    return { count: found.events.length, next: found.next };
  },
});

async function ownEvent(ctx: QueryCtx, userId: string, id: string): Promise<Doc<"webhookEvents">> {
  const eventId = ctx.db.normalizeId("webhookEvents", id.replace(/^msg_/, ""));
  const row = eventId === null ? null : await ctx.db.get("webhookEvents", eventId);
  const isTold = row !== null && (row.userId === userId || row.userId === NOBODY);
  if (!isTold || row.at < replayedSince(Date.now()))
    throw new AppError("not_found", "This user has had no such event in the last 7 days");
  return row;
}

/** The earliest time of events that can still be read and resent. */
function replayedSince(now: number): number {
  return now - REPLAYED_DAYS * DAY;
}

/**
 * The events that a user's webhooks ask for, from a time on, oldest first.
 * @returns `next` is the time of the next page; `null` if there is none.
 */
async function eventsSince(
  ctx: QueryCtx,
  {
    userId,
    since,
    now,
    most,
    types,
  }: { userId: string; since: number; now: number; most: number; types: readonly EventType[] },
): Promise<{ events: Doc<"webhookEvents">[]; next: number | null }> {
  const from = Math.max(since, replayedSince(now));
  const of = (whose: string) =>
    ctx.db
      .query("webhookEvents")
      .withIndex("by_userId_and_at", (q) => q.eq("userId", whose).gte("at", from))
      .take(most + 1);
  const both = [...(await of(userId)), ...(await of(NOBODY))].toSorted((a, b) => a.at - b.at);
  const next = both[most]?.at ?? null;
  return { events: both.slice(0, most).filter(({ type }) => types.includes(type)), next };
}
