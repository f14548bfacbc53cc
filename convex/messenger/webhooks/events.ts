import { internal } from "../../_generated/api";
import type { Doc, Id } from "../../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../../_generated/server";
import { NOBODY } from "../../lib/records/records";
import { rowsByBoth } from "../../lib/records/rows";
import type { EventType, OWN_EVENTS, PUBLIC_EVENTS } from "./tables";

/** Events for webhooks. Plain functions for the transactions that decide them. */

/** The most posts that wait for one webhook: one that has been silent for long gets no more. Twenty alerts, each for a few hours. */
export const MOST_WAITING = 50;

/** The most active webhooks of a user. */
export const MOST_WEBHOOKS = 3;

/** A user's active webhooks, oldest first. */
export async function webhooksOf(ctx: QueryCtx, userId: string): Promise<Doc<"webhooks">[]> {
  return rowsByBoth(ctx.db.query("webhooks"), "userId", userId, "state", "active").take(MOST_WEBHOOKS);
}

type Data = Readonly<Record<string, unknown>>;

/** Posts an event to a user's own webhooks; if none asks for it, nothing is written. */
export async function tellOwner(
  ctx: MutationCtx,
  userId: string,
  type: (typeof OWN_EVENTS)[number],
  data: () => Data,
): Promise<void> {
  const hearing = (await webhooksOf(ctx, userId)).filter(({ events }) => events.includes(type));
  if (hearing.length === 0) return;
  const eventId = await keep(ctx, userId, type, data());
  for (const webhook of hearing) await post(ctx, webhook, eventId);
}

/** Posts an event to every webhook that asks for it, after this transaction, because there may be any number. */
export async function tellEverybody(
  ctx: MutationCtx,
  type: (typeof PUBLIC_EVENTS)[number],
  data: Data,
): Promise<void> {
  const eventId = await keep(ctx, NOBODY, type, data);
  await ctx.scheduler.runAfter(0, internal.messenger.webhooks.posts.spread, { eventId, cursor: null });
}

async function keep(
  ctx: MutationCtx,
  userId: string,
  type: EventType,
  data: Data,
): Promise<Id<"webhookEvents">> {
  return ctx.db.insert("webhookEvents", { userId, type, data: JSON.stringify(data), at: Date.now() });
}

/** Queues an event for a webhook, or queues it again. One that is being posted stays as it is. */
export async function post(
  ctx: MutationCtx,
  { _id: webhookId, userId }: Pick<Doc<"webhooks">, "_id" | "userId">,
  eventId: Id<"webhookEvents">,
): Promise<void> {
  const known = await ctx.db
    .query("webhookPosts")
    .withIndex("by_webhookId_and_eventId", (q) => q.eq("webhookId", webhookId).eq("eventId", eventId))
    .unique();
  if (known?.state === "due" || known?.state === "posting") return;
  await makeRoom(ctx, webhookId);
  const now = Date.now();
  const due = { state: "due", tries: 0, dueAt: now, askedAt: now } as const;
  if (known === null) await ctx.db.insert("webhookPosts", { userId, webhookId, eventId, ...due });
  else await ctx.db.patch("webhookPosts", known._id, due);
}

/** Drops the oldest posts: recent events matter more than old ones. */
async function makeRoom(ctx: MutationCtx, webhookId: Id<"webhooks">): Promise<void> {
  const waiting = await ctx.db
    .query("webhookPosts")
    .withIndex("by_webhookId_and_state", (q) => q.eq("webhookId", webhookId).eq("state", "due"))
    .take(MOST_WAITING);
  const [oldest] = waiting;
  if (oldest === undefined || waiting.length < MOST_WAITING) return;
  const outcome = `It was dropped for newer ones: at most ${MOST_WAITING} may wait for a webhook`;
  await ctx.db.patch("webhookPosts", oldest._id, { state: "failed", outcome });
}

/** The `webhook-id` of an event: the same in every attempt, and at every webhook. */
export function messageIdOf(eventId: Id<"webhookEvents">): string {
  return `msg_${eventId}`;
}
