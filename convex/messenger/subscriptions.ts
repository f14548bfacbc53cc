import { getOneFrom } from "convex-helpers/server/relationships";
import { v } from "convex/values";
import type { Doc } from "../_generated/dataModel";
import { internalMutation, type MutationCtx, type QueryCtx } from "../_generated/server";
import { NOBODY } from "../platform/records";
import { DAY } from "../lib/time";
import { findUserOfMessenger, toChatUser } from "./model";
import { vTopic, type Topic } from "./tables";

/** The news that chats subscribe to: what each has switched on, and which chats get a broadcast. */

type Subscription = Doc<"subscriptions">;

/** A chat that has refused every card for this long gets no further one until it writes to the bot. */
const PATIENCE_MS = 3 * DAY;

/** Whether a chat gets a topic's news. Pure. @param serviceChat The service's own chat, which gets everything already. */
export function isReceiver(
  { chatId, topics, refusedSince = Infinity }: Pick<Subscription, "chatId" | "topics" | "refusedSince">,
  { topic, serviceChat, now }: { topic: Topic; serviceChat: string | null; now: number },
): boolean {
  return topics.includes(topic) && now - refusedSince < PATIENCE_MS && chatId !== serviceChat;
}

export function findSubscription(ctx: QueryCtx, chatId: string): Promise<Subscription | null> {
  return getOneFrom(ctx.db, "subscriptions", "by_chatId", chatId);
}

/**
 * Switches topics of a chat on or off; with none it only reads.
 * @returns The topics that are on. The caller has proven that the sender decides for the chat.
 */
export const switchTopics = internalMutation({
  args: {
    chatId: v.string(),
    threadId: v.optional(v.number()),
    isPrivate: v.boolean(),
    topics: v.array(vTopic),
    isOn: v.boolean(),
  },
  returns: v.array(vTopic),
  handler: async (ctx, { chatId, threadId, isPrivate, topics: switched, isOn }) => {
    const row = await findSubscription(ctx, chatId);
    const before = row?.topics ?? [];
    const others = before.filter((one) => !switched.includes(one));
    const topics = isOn ? [...others, ...switched] : others;
    if (topics.length === before.length) return before;
    if (row !== null && topics.length === 0) await ctx.db.delete("subscriptions", row._id);
    else if (row !== null) await ctx.db.patch("subscriptions", row._id, { topics });
    else {
      const linked = isPrivate ? await findUserOfMessenger(ctx, chatId) : NOBODY;
      const place = { chatId, ...(threadId === undefined ? {} : { threadId }) };
      await ctx.db.insert("subscriptions", { ...place, userId: linked ?? toChatUser(chatId), topics });
    }
    return topics;
  },
});

/** Stores whether a chat has taken a card. */
export async function noteTaken(ctx: MutationCtx, row: Subscription, isTaken: boolean): Promise<void> {
  const isKnown = (row.refusedSince === undefined) === isTaken;
  const refusedSince = isTaken ? undefined : Date.now();
  if (!isKnown) await ctx.db.patch("subscriptions", row._id, { refusedSince });
}

/** A chat that writes to the bot gets its news again. */
export async function wakeChat(ctx: MutationCtx, chatId: string): Promise<void> {
  const row = await findSubscription(ctx, chatId);
  if (row !== null) await noteTaken(ctx, row, true);
}

/** The subscription of a chat that has another id now. */
export async function moveSubscription(ctx: MutationCtx, from: string, to: string): Promise<void> {
  const row = await findSubscription(ctx, from);
  if (row === null || from === to) return;
  if ((await findSubscription(ctx, to)) === null)
    await ctx.db.patch("subscriptions", row._id, { chatId: to });
  else await ctx.db.delete("subscriptions", row._id);
}

/** The subscription of a private chat is the user's to whom it is linked, else the chat's own. */
export async function adoptSubscription(ctx: MutationCtx, chatId: string, userId: string): Promise<void> {
  const row = await findSubscription(ctx, chatId);
  if (row !== null && row.userId !== userId) await ctx.db.patch("subscriptions", row._id, { userId });
}
