import { internal } from "../../_generated/api";
import type { Doc, Id } from "../../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../../_generated/server";
import { NOBODY } from "../../lib/records/records";
import { rowsByBoth } from "../../lib/records/rows";
import type { EventType, OWN_EVENTS, PUBLIC_EVENTS } from "./tables";

/** Events for webhooks. Plain functions for the transactions that decide them. */

/** The most posts that wait for one webhook: of one that has been silent for long, the oldest go. */
const MOST_WAITING = 50;

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
  const asking = (await webhooksOf(ctx, userId)).filter(({ events }) => events.includes(type));
  if (asking.length === 0) return;
  const eventId = await keep(ctx, userId, type, data());
  for (const webhook of asking) await post(ctx, webhook, eventId);
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

/** Queues an event for a webhook; with fifty waiting, the oldest is dropped. */
export async function post(
  ctx: MutationCtx,
  { _id: webhookId, userId, problem }: Pick<Doc<"webhooks">, "_id" | "userId" | "problem">,
  eventId: Id<"webhookEvents">,
): Promise<void> {
  const waiting = (state: "due" | "retrying") =>
    ctx.db
      .query("webhookPosts")
      .withIndex("by_webhookId_and_state", (q) => q.eq("webhookId", webhookId).eq("state", state))
      .take(MOST_WAITING);
  const rows = [...(await waiting("retrying")), ...(await waiting("due"))];
  if (rows.length >= MOST_WAITING) {
    const oldest = rows.reduce((a, b) => (b._creationTime < a._creationTime ? b : a));
    const outcome = `It was dropped for newer ones: at most ${MOST_WAITING} may wait for a webhook`;
    await ctx.db.patch("webhookPosts", oldest._id, { state: "failed", outcome });
  }
  const state = problem === undefined ? "due" : "retrying";
  await ctx.db.insert("webhookPosts", { userId, webhookId, eventId, state, tries: 0, dueAt: Date.now() });
}

/** The `webhook-id` of an event: the same in every attempt, and at every webhook. */
export function messageIdOf(eventId: Id<"webhookEvents">): string {
  return `msg_${eventId}`;
}
