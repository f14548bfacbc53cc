import type { Id } from "../_generated/dataModel";
import type { MutationCtx } from "../_generated/server";
import { sharedChatHasLeft } from "../lib/limits";
import { log } from "../lib/log";
import { configOf, enqueueCard, linkedChat, type Card } from "./model";

/**
 * Puts a card that somebody asked for into the outbox. Who has neither a bot nor a chat of their own is served in the
 * service's chat, where all such callers together have a limit: its readers are not theirs.
 * @returns `null` when that limit is used up: nothing is queued.
 */
export async function enqueueRequestedCard(ctx: MutationCtx, card: Card): Promise<Id<"messages"> | null> {
  if (!(await hasOwnChat(ctx, card.userId)) && !(await sharedChatHasLeft(ctx))) {
    log.warn("messenger.card not sent", { kind: card.kind, reason: "the shared chat's limit" });
    return null;
  }
  return enqueueCard(ctx, card);
}

/** With a bot of their own a user's cards never go to the service's chat, whether they have a chat or not. */
async function hasOwnChat(ctx: MutationCtx, userId: string): Promise<boolean> {
  const config = await configOf(ctx, userId);
  if (config?.chatId !== undefined || config?.sealedBotToken !== undefined) return true;
  return (await linkedChat(ctx, userId)) !== null;
}
