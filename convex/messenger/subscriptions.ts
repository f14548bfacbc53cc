import { getOneFrom } from "convex-helpers/server/relationships";
import { v, type ObjectType } from "convex/values";
import { internal } from "../_generated/api";
import type { Doc } from "../_generated/dataModel";
import { internalMutation, type MutationCtx, type QueryCtx } from "../_generated/server";
import { getOptional, isSet } from "../lib/env";
import { defined } from "../lib/objects";
import { DAY, HOUR, SECOND } from "../lib/time";
import { defineMutation } from "../platform/changes";
import { NOBODY } from "../platform/records";
import {
  enqueueCard,
  enqueueServiceCard,
  findUserOfMessenger,
  formatPlace,
  parsePlace,
  queryDueCards,
  toChatUser,
  type OutgoingCard,
} from "./model";
import { vPicture, vSpan, vTopic, type Topic } from "./tables";

/** News for chats that subscribe: each chat's topics, and the cards with the news. */

type Subscription = Doc<"subscriptions">;

/** A chat that has refused every card for this long gets no further one until it writes to the bot. */
const REFUSING_FOR_MS = 3 * DAY;
/** Older news is not sent. */
const NEWS_MS = 6 * HOUR;
/**
 * The chats whose cards are queued together, once a second: more than the messenger accepts would delay other cards.
 */
const CHATS_PER_SECOND = 25;

/**
 * Sends news to the service's own chat, and to every chat that subscribes to its topic, in the transaction that decides it.
 */
export async function broadcast(
  ctx: MutationCtx,
  topic: Topic,
  card: Omit<OutgoingCard, "userId" | "chatId">,
): Promise<void> {
  await enqueueServiceCard(ctx, card);
  if (!isSet("MESSENGER_BOT_TOKEN")) return;
  const { kind, picture } = card;
  const paragraphs = card.paragraphs.map((one) => [...one]);
  const news = { topic, kind, paragraphs, ...(picture === undefined ? {} : { picture }) };
  await queueCards(ctx, news, "");
}

const vNews = {
  topic: vTopic,
  kind: v.string(),
  paragraphs: v.array(v.array(vSpan)),
  picture: v.optional(vPicture),
};

/**
 * Queues the cards of some more chats, in the order of their ids, unless due cards wait.
 * @param cursor The chats up to this one have theirs.
 */
export const queueNews = defineMutation(
  { ...vNews, cursor: v.string() },
  async (ctx, { cursor, ...news }) => {
    const isBehind = (await queryDueCards(ctx, "queued", Date.now() - SECOND).first()) !== null;
    if (isBehind) await queueLater(ctx, news, cursor);
    else await queueCards(ctx, news, cursor);
  },
);

async function queueLater(ctx: MutationCtx, news: ObjectType<typeof vNews>, cursor: string): Promise<void> {
  await ctx.scheduler.runAfter(SECOND, internal.messenger.subscriptions.queueNews, { ...news, cursor });
}

async function queueCards(ctx: MutationCtx, news: ObjectType<typeof vNews>, cursor: string): Promise<void> {
  const { topic, ...card } = news;
  const chats = await ctx.db
    .query("subscriptions")
    .withIndex("by_chatId", (q) => q.gt("chatId", cursor))
    .take(CHATS_PER_SECOND);
  const buttons = [[{ text: "🔕 Stop these", command: `unsubscribe ${topic}` }]];
  const serviceChat = await findServiceChat(ctx);
  for (const place of chats.filter((one) => isReceiver(one, topic, serviceChat))) {
    const to = { userId: NOBODY, chatId: formatPlace(place), bot: "default" } as const;
    await enqueueCard(ctx, { ...card, ...to, news: topic, buttons });
  }
  const next = chats[CHATS_PER_SECOND - 1]?.chatId;
  if (next !== undefined) await queueLater(ctx, news, next);
}

/** The service's own chat: its id, also where it has another one now, or its public name; "" without one. */
async function findServiceChat(ctx: QueryCtx): Promise<string> {
  const { chatId } = parsePlace(getOptional("MESSENGER_CHAT_ID") ?? "");
  return (await getOneFrom(ctx.db, "chatMoves", "by_from", chatId))?.to ?? chatId;
}

/** Whether a chat gets a topic's news. @param serviceChat The service's own chat, which gets everything already. */
function isReceiver(
  { chatId, chatName = chatId, topics, refusedSince = Infinity }: Subscription,
  topic: Topic,
  serviceChat: string,
): boolean {
  if (chatId === serviceChat || chatName.toLowerCase() === serviceChat.toLowerCase()) return false;
  return topics.includes(topic) && Date.now() - refusedSince < REFUSING_FOR_MS;
}

/** Whether a queued card is still news to its chat, which may have switched it off since. */
export async function isNewsTo(
  ctx: QueryCtx,
  chatId: string,
  { news, _creationTime: at }: Doc<"messages">,
): Promise<boolean> {
  const row = news === undefined ? null : await findSubscription(ctx, chatId);
  if (news === undefined || row === null || Date.now() - at >= NEWS_MS) return false;
  return isReceiver(row, news, await findServiceChat(ctx));
}

function findSubscription(ctx: QueryCtx, chatId: string): Promise<Subscription | null> {
  return getOneFrom(ctx.db, "subscriptions", "by_chatId", chatId);
}

/**
 * Switches topics of a chat on or off; with none it only reads.
 * @returns The topics that are on. The caller has proven that the sender decides for the chat.
 */
export const switchTopics = internalMutation({
  args: {
    chatId: v.string(),
    chatName: v.optional(v.string()),
    threadId: v.optional(v.number()),
    isPrivate: v.boolean(),
    topics: v.array(vTopic),
    isOn: v.boolean(),
  },
  returns: v.array(vTopic),
  handler: async (ctx, { chatId, chatName, threadId, isPrivate, topics: switched, isOn }) => {
    const row = await findSubscription(ctx, chatId);
    const before = row?.topics ?? [];
    const others = before.filter((one) => !switched.includes(one));
    const topics = isOn ? [...others, ...switched] : others;
    if (topics.length === before.length) return before;
    if (row !== null && topics.length === 0) await ctx.db.delete("subscriptions", row._id);
    else if (row !== null) await ctx.db.patch("subscriptions", row._id, { topics, ...defined({ chatName }) });
    else {
      const linked = isPrivate ? await findUserOfMessenger(ctx, chatId) : NOBODY;
      const place = { chatId, ...defined({ chatName, threadId }) };
      await ctx.db.insert("subscriptions", { ...place, userId: linked ?? toChatUser(chatId), topics });
    }
    return topics;
  },
});

/** Records whether a chat accepted a card. A chat that writes to the bot gets its news again. */
export async function recordAcceptance(ctx: MutationCtx, chatId: string, isTaken: boolean): Promise<void> {
  const row = await findSubscription(ctx, chatId);
  if (row === null || (row.refusedSince === undefined) === isTaken) return;
  await ctx.db.patch("subscriptions", row._id, { refusedSince: isTaken ? undefined : Date.now() });
}

/** The subscription of a chat that has another id now. */
export async function moveSubscription(ctx: MutationCtx, from: string, to: string): Promise<void> {
  const row = await findSubscription(ctx, from);
  if (row === null || from === to) return;
  if ((await findSubscription(ctx, to)) === null)
    await ctx.db.patch("subscriptions", row._id, { chatId: to });
  else await ctx.db.delete("subscriptions", row._id);
}

/** Gives the subscription of a private chat to its linked user, or back to the chat's own. */
export async function adoptSubscription(ctx: MutationCtx, chatId: string, userId: string): Promise<void> {
  const row = await findSubscription(ctx, chatId);
  if (row !== null && row.userId !== userId) await ctx.db.patch("subscriptions", row._id, { userId });
}
