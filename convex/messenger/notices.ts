import { v } from "convex/values";
import { internal } from "../_generated/api";
import type { Id } from "../_generated/dataModel";
import {
  internalMutation,
  internalQuery,
  type ActionCtx,
  type MutationCtx,
  type QueryCtx,
} from "../_generated/server";
import { permitNow } from "../accounts/access";
import { accountOf, formerLinkOf } from "../accounts/model";
import { change } from "../lib/changes";
import { isSet, optional } from "../lib/env";
import { deadlines } from "../lib/outside/deadlines";
import { NOBODY } from "../lib/records/records";
import { sleep } from "../lib/time";
import type { Button } from "./format";
import { configOf, enqueueCard, linkedChat, type Card } from "./model";
import { vSpan } from "./tables";

/** Cards that belong to no user (signals, whale alerts, recaps), and cards that a user asks for; and the outcome of a card. */

/**
 * Queues a card for the service's own chat.
 * @returns `null` if no default bot or no default chat is configured: nothing is queued.
 */
export async function enqueueServiceCard(
  ctx: MutationCtx,
  card: Omit<Card, "userId" | "chatId">,
): Promise<Id<"messages"> | null> {
  if (!isSet("MESSENGER_BOT_TOKEN") || !isSet("MESSENGER_CHAT_ID")) return null;
  return enqueueCard(ctx, { ...card, userId: NOBODY });
}

/**
 * Queues a card for a user's own chat (one they have set, or the account of a confirmed link). Never for the service's
 * own chat: its readers did not ask for it, and the caller would learn that it arrived.
 * @returns `null` for a user without one: nothing is queued.
 */
export async function enqueueOwnCard(ctx: MutationCtx, card: Card): Promise<Id<"messages"> | null> {
  const chatId = (await configOf(ctx, card.userId))?.chatId ?? (await linkedChat(ctx, card.userId));
  return chatId === null ? null : enqueueCard(ctx, card);
}

/** Kinds of the service's own notices about who owns a `userId`, and about its rules. */
export const OWNERSHIP = ["account", "change of chat"] as const;

/**
 * Notifies a user on every channel they have: the chat they have set, the account of a confirmed link, and a former
 * one while it has a say.
 * @param card.buttons For an account that has a say: nobody else's tap would do anything.
 */
export async function tellEverywhere(
  ctx: MutationCtx,
  {
    buttons,
    ...card
  }: Pick<Card, "userId" | "paragraphs" | "buttons"> & { kind: (typeof OWNERSHIP)[number] },
): Promise<void> {
  const config = await configOf(ctx, card.userId);
  const linked = await linkedChat(ctx, card.userId);
  const former = await formerLinkOf(ctx, card.userId, Date.now());
  const { chatId: set, sealedBotToken } = config ?? {};
  if (set !== undefined) await enqueueCard(ctx, { ...card, chatId: set, sealedBotToken });
  const accounts = new Set([linked, former?.messengerId ?? null].filter((one) => one !== null));
  // The default bot brings it already.
  if (config?.sealedBotToken === undefined) accounts.delete(config?.chatId ?? "");
  for (const chatId of accounts) await enqueueCard(ctx, { ...card, buttons, chatId, bot: "default" });
}

/** Tells an account on every channel what has happened to it, with a button that freezes it unless it is frozen. */
export const tell = change(
  { userId: v.string(), paragraphs: v.array(v.array(vSpan)) },
  async (ctx, { userId, paragraphs }) => {
    const row = await accountOf(ctx, userId);
    const buttons = row?.frozenAt !== undefined && row.thawsAt === undefined ? undefined : FREEZE;
    await tellEverywhere(ctx, { userId, kind: "account", paragraphs, buttons });
  },
);

/** A button that stops everything. */
export const FREEZE: Button[][] = [[{ text: "🧊 Freeze", command: "freeze" }]];

async function hasOwnBot(ctx: QueryCtx, userId: string): Promise<boolean> {
  return (await configOf(ctx, userId))?.sealedBotToken !== undefined;
}

/** The kind of cards whose words are a user's own. */
export const NOTIFICATION = "notification";
/** The kind of the default bot's answers to the chat that wrote to it. */
export const ANSWER = "bot answer";

/**
 * Queues a message with the caller's own words to the caller, or returns `null` if they have neither a bot and chat of
 * their own nor a linked account.
 * @throws AppError `unauthorized` or `forbidden` if the userId's owner has not allowed it: to a linked account the bot
 * only brings words of its own user.
 */
export const notify = internalMutation({
  args: { userId: v.string(), message: v.string() },
  returns: v.union(v.id("messages"), v.null()),
  handler: async (ctx, { userId, message }) => {
    await permitNow(ctx, userId, "delivery", Date.now());
    if (!(await hasOwnBot(ctx, userId)) && optional("MESSENGER_BOT_TOKEN") === undefined) return null;
    const paragraphs = message.split(/\n\s*\n/).map((paragraph) => [paragraph]);
    return enqueueOwnCard(ctx, { userId, kind: NOTIFICATION, paragraphs });
  },
});

/** Waits a while for a card's delivery. @returns Whether it was sent; `null` while it is still on its way. For actions. */
export async function awaitDelivery(ctx: ActionCtx, messageId: Id<"messages">): Promise<boolean | null> {
  const signal = AbortSignal.timeout(deadlines.delivery);
  for (let pause = 50; !signal.aborted; pause = Math.min(pause * 1.5, 500)) {
    const sent: boolean | null = await ctx.runQuery(internal.messenger.notices.outcome, { messageId });
    if (sent !== null) return sent;
    await sleep(pause);
  }
  return null;
}

/** Whether a card was sent; `null` while it is being sent. */
export const outcome = internalQuery({
  args: { messageId: v.id("messages") },
  returns: v.union(v.boolean(), v.null()),
  handler: async (ctx, { messageId }) => {
    const row = await ctx.db.get("messages", messageId);
    if (row === null) return false;
    return row.state === "queued" || row.state === "sending" ? null : row.state === "sent";
  },
});
