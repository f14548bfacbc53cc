import { v, type ObjectType } from "convex/values";
import { internal } from "../_generated/api";
import type { Id } from "../_generated/dataModel";
import { internalMutation, internalQuery, type ActionCtx, type MutationCtx } from "../_generated/server";
import { requireAllowed, authorize } from "../identity/access";
import { defineMutation } from "../platform/changes";
import { isSet } from "../lib/env";
import { deadlines } from "../platform/outside/deadlines";
import { sleep } from "../lib/time";
import type { Button, Paragraph } from "./format";
import {
  findConfig,
  enqueueCard,
  enqueueOwnCard,
  findFormerLink,
  findLinkedChat,
  NOTIFICATION,
  type OutgoingCard,
} from "./model";
import type { NOTICES } from "./tables";
import { listUserWebhooks } from "./webhooks/events";

/** Notices to every channel of an account, and a user's messenger settings. */

/**
 * Notifies a user on every channel: the chat in their settings, the account of a confirmed link, and a former one for
 * as long as it may freeze.
 * @param notice.buttons For accounts that may freeze: a tap from any other chat has no effect.
 */
export async function notifyEverywhere(
  ctx: MutationCtx,
  notice: Pick<OutgoingCard, "userId" | "paragraphs" | "buttons"> & { kind: (typeof NOTICES)[number] },
): Promise<void> {
  const { buttons, ...card } = notice;
  const config = await findConfig(ctx, card.userId);
  const linked = await findLinkedChat(ctx, card.userId);
  const former = await findFormerLink(ctx, card.userId, Date.now());
  const { chatId: set, sealedBotToken } = config ?? {};
  if (set !== undefined) await enqueueCard(ctx, { ...card, chatId: set, sealedBotToken });
  const accounts = new Set([linked, former?.messengerId ?? null].filter((one) => one !== null));
  // The default bot sends it to this chat already.
  if (config?.sealedBotToken === undefined) accounts.delete(config?.chatId ?? "");
  for (const chatId of accounts) await enqueueCard(ctx, { ...card, buttons, chatId, bot: "default" });
}

/** A button that stops everything. */
export const FREEZE: Button[][] = [[{ text: "🧊 Freeze", command: "freeze" }]];

/**
 * Queues a message with the caller's own text to the caller, or returns `null` if they have neither a bot and chat of
 * their own nor a linked account.
 * @throws AppError `unauthorized` or `forbidden` if the userId's owner has not allowed it: the bot sends a linked
 * account only the texts of its own user.
 */
export const notify = internalMutation({
  args: { userId: v.string(), message: v.string(), keyHash: v.optional(v.string()) },
  returns: v.union(v.id("messages"), v.null()),
  handler: async (ctx, { userId, message, keyHash }) => {
    requireAllowed(await authorize(ctx, userId, "delivery", Date.now(), keyHash));
    const ownBot = (await findConfig(ctx, userId))?.sealedBotToken;
    if (ownBot === undefined && !isSet("MESSENGER_BOT_TOKEN")) return null;
    const paragraphs = message.split(/\n\s*\n/).map((paragraph) => [paragraph]);
    return enqueueOwnCard(ctx, { userId, kind: NOTIFICATION, paragraphs });
  },
});

/** Whether a user's alerts have a destination: a chat of theirs, or a webhook. */
export const isReached = internalQuery({
  args: { userId: v.string() },
  returns: v.boolean(),
  handler: async (ctx, { userId }) =>
    (await findConfig(ctx, userId))?.chatId !== undefined ||
    (await findLinkedChat(ctx, userId)) !== null ||
    (await listUserWebhooks(ctx, userId)).length > 0,
});

/** Waits a while for a card's delivery. @returns Whether it was sent; `null` while it is still on its way. For actions. */
export async function awaitDelivery(ctx: ActionCtx, messageId: Id<"messages">): Promise<boolean | null> {
  const signal = AbortSignal.timeout(deadlines.delivery);
  for (let pause = 50; !signal.aborted; pause = Math.min(pause * 1.5, 500)) {
    const sent: boolean | null = await ctx.runQuery(internal.messenger.notices.getDeliveryOutcome, {
      messageId,
    });
    if (sent !== null) return sent;
    await sleep(pause);
  }
  return null;
}

/** Whether a card was sent; `null` while it is being sent. */
export const getDeliveryOutcome = internalQuery({
  args: { messageId: v.id("messages") },
  returns: v.union(v.boolean(), v.null()),
  handler: async (ctx, { messageId }) => {
    const row = await ctx.db.get("messages", messageId);
    if (row === null) return false;
    return row.state === "queued" || row.state === "sending" ? null : row.state === "sent";
  },
});

/** A field's new value; `null` clears it, leaving it out keeps it. The bot token comes sealed. */
const vChange = v.optional(v.union(v.string(), v.null()));
const vChanges = { sealedBotToken: vChange, chatId: vChange };

/**
 * Stores a user's settings. Before a change of bot or chat, the present bot notifies every chat of the user.
 * @throws AppError `unauthorized`, `forbidden`
 */
export const save = defineMutation(
  { userId: v.string(), ...vChanges, keyHash: v.optional(v.string()) },
  async (ctx, { userId, keyHash, ...changes }) => {
    requireAllowed(await authorize(ctx, userId, "delivery", Date.now(), keyHash));
    const before = await findConfig(ctx, userId);
    const isOther = (field: "chatId" | "sealedBotToken") =>
      changes[field] !== undefined && (changes[field] ?? undefined) !== before?.[field];
    if (isOther("chatId") || isOther("sealedBotToken")) {
      const buttons = FREEZE;
      await notifyEverywhere(ctx, { userId, kind: "change of chat", paragraphs: ELSEWHERE, buttons });
    }
    await store(ctx, userId, changes);
  },
);

const ELSEWHERE: Paragraph[] = [
  [{ bold: "🔀 Your cards go elsewhere" }],
  ["Your account has other messenger settings. If that was not you, freeze it and set them back."],
  ["If it has no owner, move what its wallets hold to an account id that nobody can guess."],
];

async function store(ctx: MutationCtx, userId: string, changes: ObjectType<typeof vChanges>): Promise<void> {
  const row = await findConfig(ctx, userId);
  const { sealedBotToken: token = row?.sealedBotToken, chatId: chat = row?.chatId } = changes;
  const config = {
    userId,
    ...(token ? { sealedBotToken: token } : {}),
    ...(chat ? { chatId: chat } : {}),
    updatedAt: Date.now(),
  };
  if (row !== null) await ctx.db.replace("messengerConfigs", row._id, config);
  else if (token || chat) await ctx.db.insert("messengerConfigs", config);
}

/** Removes the settings and webhooks that earlier users of an id have made, once it has an owner. */
export async function removeSettings(ctx: MutationCtx, userId: string): Promise<void> {
  await store(ctx, userId, { chatId: null, sealedBotToken: null });
  for (const { _id } of await listUserWebhooks(ctx, userId)) await ctx.db.delete("webhooks", _id);
}

/** The sealed token of a user's own bot. */
export const getSealedToken = internalQuery({
  args: { userId: v.string() },
  returns: v.union(v.string(), v.null()),
  handler: async (ctx, { userId }) => (await findConfig(ctx, userId))?.sealedBotToken ?? null,
});
