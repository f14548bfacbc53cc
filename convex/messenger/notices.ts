import { v } from "convex/values";
import type { Id } from "../_generated/dataModel";
import { internalQuery, type MutationCtx } from "../_generated/server";
import { isSet } from "../lib/env";
import { NOBODY } from "../lib/ids";
import { enqueueCard, type Card } from "./model";

/** Cards that are no user's own: signals, whale alerts, recaps. And how a card has fared. */

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
