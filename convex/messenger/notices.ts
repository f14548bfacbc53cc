import { v } from "convex/values";
import type { Id } from "../_generated/dataModel";
import { internalMutation, internalQuery, type MutationCtx } from "../_generated/server";
import { isSet, optional } from "../lib/env";
import { NOBODY } from "../lib/ids";
import { assertMayMoveNow } from "../users/access";
import { configOf, enqueueCard, linkedChat, type Card } from "./model";

/** Cards that are no user's own (signals, whale alerts, recaps), and those that a user asks for. And how a card has fared. */

/**
 * Puts a card for the service's own chat into the outbox.
 * @returns `null` where no default bot or no default chat is configured: nothing is queued.
 */
export async function enqueueServiceCard(
  ctx: MutationCtx,
  card: Omit<Card, "userId" | "chatId">,
): Promise<Id<"messages"> | null> {
  if (!isSet("MESSENGER_BOT_TOKEN") || !isSet("MESSENGER_CHAT_ID")) return null;
  return enqueueCard(ctx, { ...card, userId: NOBODY });
}

/**
 * Puts a card that somebody asked for into the outbox. The service's own chat is not for these: its readers did not
 * ask, and who asked would be told that it arrived.
 * @returns `null` for a user without a chat of their own (one they have set, or the account of a link that it has
 * confirmed): nothing is queued.
 */
export async function enqueueRequestedCard(ctx: MutationCtx, card: Card): Promise<Id<"messages"> | null> {
  const chatId = (await configOf(ctx, card.userId))?.chatId ?? (await linkedChat(ctx, card.userId));
  return chatId === null ? null : enqueueCard(ctx, card);
}

/** By this kind the delivery knows that a card's words are a user's. */
export const NOTIFICATION = "notification";

/**
 * Queues a message whose words are the caller's to the caller themself, or `null` when they have neither a bot and chat of
 * their own nor a linked account.
 * @throws AppError `unauthorized` or `forbidden` when the userId is a signed-in user's and the caller is not: to a linked
 * account the bot brings the words of its own user alone.
 */
export const notify = internalMutation({
  args: { userId: v.string(), message: v.string() },
  returns: v.union(v.id("messages"), v.null()),
  handler: async (ctx, { userId, message }) => {
    await assertMayMoveNow(ctx, userId);
    const hasOwnBot = (await configOf(ctx, userId))?.sealedBotToken !== undefined;
    if (!hasOwnBot && optional("MESSENGER_BOT_TOKEN") === undefined) return null;
    const paragraphs = message.split(/\n\s*\n/).map((paragraph) => [paragraph]);
    return enqueueRequestedCard(ctx, { userId, kind: NOTIFICATION, paragraphs });
  },
});

/** Whether a card was sent; `null` while it is on its way. */
export const outcome = internalQuery({
  args: { messageId: v.id("messages") },
  returns: v.union(v.boolean(), v.null()),
  handler: async (ctx, { messageId }) => {
    const row = await ctx.db.get("messages", messageId);
    if (row === null) return false;
    return row.state === "queued" || row.state === "sending" ? null : row.state === "sent";
  },
});
