import { v } from "convex/values";
import { internalMutation } from "../_generated/server";
import { optional } from "../lib/env";
import { assertMayMoveNow } from "../users/access";
import { configOf, enqueueCard, linkedChat } from "./model";

/** Messages whose words are the caller's, to the caller themself. */

/** By this kind the delivery knows that a card's words are a user's. */
export const NOTIFICATION = "notification";

/**
 * Queues a message to a user, or `null` when they have neither a bot and chat of their own nor a linked account. The
 * service's own chat is nobody's: it gets none of these.
 * @throws AppError `unauthorized` or `forbidden` when the userId is a signed-in user's and the caller is not: to a linked
 * account the bot brings the words of its own user alone.
 */
export const queue = internalMutation({
  args: { userId: v.string(), message: v.string() },
  returns: v.union(v.id("messages"), v.null()),
  handler: async (ctx, { userId, message }) => {
    await assertMayMoveNow(ctx, userId);
    const config = await configOf(ctx, userId);
    const chatId = config?.chatId ?? (await linkedChat(ctx, userId));
    const hasOwnBot = config?.sealedBotToken !== undefined;
    if (chatId === null || (!hasOwnBot && optional("MESSENGER_BOT_TOKEN") === undefined)) return null;
    const paragraphs = message.split(/\n\s*\n/).map((paragraph) => [paragraph]);
    return enqueueCard(ctx, { userId, kind: NOTIFICATION, paragraphs });
  },
});
