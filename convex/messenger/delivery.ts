import { v, type Infer } from "convex/values";
import { internal } from "../_generated/api";
import type { Doc, Id } from "../_generated/dataModel";
import { internalMutation, type MutationCtx, type QueryCtx } from "../_generated/server";
import { getErrorMessage } from "../lib/errors";
import { log } from "../lib/log";
import { defineMutation } from "../platform/changes";
import { flushUsage, vProviderUsage } from "../platform/outside/calls";
import { completeWork, getRunningWork, vJob } from "../platform/work";
import { isDelivering, openDelivery, queryDueCards } from "./model";
import { vSendAttempt, vSendStep, type SendAttempt, type SendStep } from "./outbox";

/** The one delivery of all cards: which are under way, and which come next. `messenger/actions` sends them. */

/** A part to send, its card, and the key of the card's chat. */
const vPart = vSendAttempt.extend({ messageId: v.id("messages"), chat: v.string() });
export type Part = Infer<typeof vPart>;
const vOutcome = v.object({ messageId: v.id("messages"), chat: v.string(), step: vSendStep });
export type PartOutcome = Infer<typeof vOutcome>;

/** So many more due cards are read than there is room for, because some wait for an earlier card to their chat. */
const SPARE = 5;
/** News leaves so many places for other cards, which go first. */
const KEPT_FREE = 5;

/**
 * One round of the delivery: stores the outcomes of parts, and begins the next ones, also of further cards that are due. A
 * chat has one card under way at a time. Without anything under way the delivery ends.
 * @param underWay The chats of the parts that are still being sent.
 * @param isFirst Whether the delivery begins: what is being sent was then cut off with an earlier one.
 * @param most How many cards may be under way.
 * @returns The parts to send.
 */
export const advanceCards = internalMutation({
  args: {
    job: vJob,
    outcomes: v.array(vOutcome),
    underWay: v.array(v.string()),
    isFirst: v.boolean(),
    most: v.number(),
    usage: vProviderUsage,
  },
  returns: v.array(vPart),
  handler: async (ctx, { job, outcomes, underWay, isFirst, most, usage }) => {
    await flushUsage(ctx, usage);
    if ((await getRunningWork(ctx, job)) === null) return [];
    const parts: Part[] = [];
    const chats = new Set(underWay);
    const advance = async (messageId: Id<"messages">, chat: string, step: SendStep | null) => {
      const attempt = await advanceOne(ctx, messageId, step);
      if (attempt === null) return;
      parts.push({ ...attempt, messageId, chat });
      chats.add(chat);
    };
    for (const { messageId, chat, step } of outcomes) await advance(messageId, chat, step);
    const take = async (state: "queued" | "sending") => {
      if (chats.size >= most) return;
      const now = Date.now();
      const room = most - chats.size + SPARE;
      const due = await queryDueCards(ctx, state, now).take(room);
      const hasNews = due.some(({ news }) => news !== undefined);
      const first = hasNews ? await queryDueCards(ctx, state, now, false).take(room) : [];
      for (const row of [...first, ...due]) {
        const chat = nameChat(row);
        const places = row.news === undefined ? most : most - KEPT_FREE;
        if (chats.size < places && !chats.has(chat)) await advance(row._id, chat, null);
      }
    };
    if (isFirst) await take("sending");
    await take("queued");
    if (chats.size === 0) {
      await completeWork(ctx, job);
      if ((await queryDueCards(ctx, "queued", Date.now()).first()) !== null) await openDelivery(ctx);
    }
    return parts;
  },
});

/** Stands for the chat of a card, as far as its row names one. */
const nameChat = ({ userId, chatId = "" }: Doc<"messages">): string => `${chatId} ${userId}`;

/** Advances one card, in a transaction of its own: a card that cannot be advanced fails alone. */
async function advanceOne(
  ctx: MutationCtx,
  messageId: Id<"messages">,
  step: SendStep | null,
): Promise<SendAttempt | null> {
  try {
    return await ctx.runMutation(internal.messenger.outbox.advanceCard, { messageId, step });
  } catch (thrown) {
    const error = getErrorMessage(thrown);
    log.error("messenger.stuck", { messageId, error });
    await ctx.db.patch("messages", messageId, { state: "failed", error });
    return null;
  }
}

/** Begins the delivery of due cards, unless it is under way. */
export const resumeDelivery = defineMutation({}, openDelivery);

/** Since when a card is due while nothing delivers cards, epoch ms; `null` if there is none. */
export async function getUndeliveredSince(ctx: QueryCtx, now: number): Promise<number | null> {
  const first = await queryDueCards(ctx, "queued", now).first();
  return first === null || (await isDelivering(ctx)) ? null : first.dueAt;
}
