import { v } from "convex/values";
import { internalMutation } from "../_generated/server";
import { optional } from "../lib/env";
import type { Paragraph } from "./format";
import { configOf, enqueueCard, linkedChat } from "./model";

/** Messages whose words are the caller's, to the caller themself. */

/**
 * Stands above the words of somebody who only named a chat as theirs: the default bot is trusted by whoever started it,
 * and anybody can make up a `userId` and name their chat.
 */
const NOT_OURS: Paragraph = [
  { bold: "✉️ Not from this service" },
  "\nSomebody who named this chat as theirs sends this through the bot:",
];

/**
 * Queues a message to a user, or `null` when they have neither a bot and chat of their own nor a linked account. The
 * service's own chat is nobody's: it gets none of these.
 */
export const queue = internalMutation({
  args: { userId: v.string(), message: v.string() },
  returns: v.union(v.id("messages"), v.null()),
  handler: async (ctx, { userId, message }) => {
    const config = await configOf(ctx, userId);
    const linked = await linkedChat(ctx, userId);
    const chatId = config?.chatId ?? linked;
    const hasOwnBot = config?.sealedBotToken !== undefined;
    if (chatId === null || (!hasOwnBot && optional("MESSENGER_BOT_TOKEN") === undefined)) return null;
    const words = message.split(/\n\s*\n/).map((paragraph): Paragraph => [paragraph]);
    const isProven = hasOwnBot || chatId === linked;
    return enqueueCard(ctx, {
      userId,
      kind: "notification",
      paragraphs: isProven ? words : [NOT_OURS, ...words],
    });
  },
});
