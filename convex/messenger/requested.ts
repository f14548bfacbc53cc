import type { Id } from "../_generated/dataModel";
import type { MutationCtx } from "../_generated/server";
import { configOf, enqueueCard, linkedChat, type Card } from "./model";

/**
 * Puts a card that somebody asked for into the outbox. The service's own chat is not for these: its readers did not
 * ask, and who asked would be told that it arrived.
 * @returns `null` for a user without a chat of their own: nothing is queued.
 */
export async function enqueueRequestedCard(ctx: MutationCtx, card: Card): Promise<Id<"messages"> | null> {
  return (await hasOwnChat(ctx, card.userId)) ? enqueueCard(ctx, card) : null;
}

/** A chat the user has set, or the account of a link that it has confirmed. */
async function hasOwnChat(ctx: MutationCtx, userId: string): Promise<boolean> {
  return (await configOf(ctx, userId))?.chatId !== undefined || (await linkedChat(ctx, userId)) !== null;
}
