import { internal } from "../_generated/api";
import type { Doc, Id } from "../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../_generated/server";
import { enter } from "../lib/lanes";
import { deliveryPool } from "../lib/pools";
import { MINUTE } from "../lib/time";
import type { Paragraph } from "../messenger/format";
import { enqueueCard, linkOfAccount, type Card } from "../messenger/model";
import { ANSWER } from "../messenger/notices";
import type { Sender, Work } from "./tables";

/** The link that somebody else made for a sender's account and that it has not confirmed, or `null`. */
export async function unconfirmedLinkOf(
  ctx: QueryCtx,
  sender: Sender,
): Promise<Doc<"messengerLinks"> | null> {
  const link = await linkOfAccount(ctx, sender.messengerId);
  return link?.confirmedAt === undefined ? link : null;
}

/** Queues an answer for the chat that wrote, by the bot it wrote to. */
export async function sendAnswer(
  ctx: MutationCtx,
  sender: Sender,
  userId: string | null,
  paragraphs: readonly Paragraph[],
  more: Pick<Card, "buttons" | "picture" | "replaces"> = {},
): Promise<Id<"messages">> {
  const { chatId } = sender;
  // What a group is answered is the group's, and no part of one user's data.
  const owner = sender.alone ? (userId ?? "") : "";
  return enqueueCard(ctx, {
    ...{ userId: owner, chatId, bot: "default", kind: ANSWER, paragraphs },
    ...more,
  });
}

/** Writes down work that answers later, and queues it. */
export async function openJob(
  ctx: MutationCtx,
  sender: Sender,
  userId: string | null,
  work: Work,
  notice?: Id<"messages">,
): Promise<void> {
  const now = Date.now();
  const asked = { sender, ...(userId === null ? {} : { userId }), work };
  const jobId = await ctx.db.insert("botJobs", {
    ...asked,
    ...(notice === undefined ? {} : { notice }),
    createdAt: now,
    running: false,
    dueAt: now,
    attempt: 0,
    lost: 0,
  });
  await scheduleJob(ctx, { _id: jobId, ...asked });
}

/** How long a question may wait for its place: waiting is not being lost. */
const QUEUE_MS = 15 * MINUTE;

/**
 * Queues a try where its outside calls belong: a model's with the models', the short ones with the messages. Too many
 * tries do no harm: each begins by claiming the row.
 */
export async function scheduleJob(
  ctx: MutationCtx,
  { _id: jobId, sender, userId, work }: Pick<Doc<"botJobs">, "_id" | "sender" | "userId" | "work">,
): Promise<void> {
  // An alert's words may need the model too: the two places of the messages are not for waiting on it.
  if (work.kind !== "ask" && work.kind !== "alert") {
    await deliveryPool.enqueueAction(ctx, internal.bot.jobs.run, { jobId }, { retry: false });
    return;
  }
  await ctx.db.patch("botJobs", jobId, { queuedUntil: Date.now() + QUEUE_MS });
  const lane = userId === undefined ? ("anonymous" as const) : ("signedIn" as const);
  const place = { lane, owner: `chat:${sender.chatId}`, request: false };
  await enter(ctx, place, internal.bot.jobs.run, { jobId });
}
