import { internal } from "../_generated/api";
import type { Doc, Id } from "../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../_generated/server";
import { open, failureHandler } from "../lib/work/jobs";
import type { Lane } from "../lib/work/lanes";
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

/** How often a step may be cut off. */
const ATTEMPTS = 3;

/** Has work done that answers later, where its outside calls belong. */
export async function openJob(
  ctx: MutationCtx,
  sender: Sender,
  userId: string | null,
  work: Work,
  place: { notice?: Id<"messages"> | undefined; replaces?: Card["replaces"] } = {},
): Promise<void> {
  const args = {
    ...{ sender, work },
    ...(userId === null ? {} : { userId }),
    ...(place.notice === undefined ? {} : { notice: place.notice }),
    ...(place.replaces === undefined ? {} : { replaces: place.replaces }),
  };
  const waits = { lane: laneOf(work, userId), owner: `chat:${sender.chatId}`, request: false };
  const onFailure = failureHandler(internal.bot.jobs.failed, args);
  await open(ctx, internal.bot.desk.answer, args, { place: waits, attempts: ATTEMPTS, onFailure });
}

/** A model's calls wait with the models', the short ones with the messages. */
function laneOf({ kind }: Work, userId: string | null): Lane {
  // An alert's words may need the model too: the places of the messages are not for waiting on it.
  if (kind !== "ask" && kind !== "alert") return "messages";
  return userId === null ? "anonymous" : "signedIn";
}
