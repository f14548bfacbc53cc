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

/** Queues an answer to the chat that wrote, through the bot that it wrote to. */
export async function sendAnswer(
  ctx: MutationCtx,
  sender: Sender,
  userId: string | null,
  paragraphs: readonly Paragraph[],
  more: Pick<Card, "buttons" | "picture" | "replaces"> = {},
): Promise<Id<"messages">> {
  const { chatId } = sender;
  // An answer to a group belongs to the group, and is not part of one user's data.
  const owner = sender.alone ? (userId ?? "") : "";
  return enqueueCard(ctx, {
    ...{ userId: owner, chatId, bot: "default", kind: ANSWER, paragraphs },
    ...more,
  });
}

/** How often a step may be interrupted. */
const ATTEMPTS = 3;

/** Opens work that answers later, in the lane of its calls to providers. */
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

/** Calls to a model wait in the models' lanes, short ones with the messages. */
function laneOf({ kind }: Work, userId: string | null): Lane {
  // The words of an alert may need the model, too, so they must not wait in the places of the messages.
  if (kind !== "ask" && kind !== "alert") return "messages";
  return userId === null ? "anonymous" : "signedIn";
}
