import { v } from "convex/values";
import type { MutationCtx } from "../_generated/server";
import { getErrorData } from "../lib/errors";
import { explainRefusal } from "../messenger/failures";
import type { Button, Paragraph } from "../messenger/format";
import { ANSWER, enqueueCard, findLinkOfMessenger, formatPlace } from "../messenger/model";
import { vButtons, vPicture, vSpan, type Picture } from "../messenger/tables";
import { buildNotice, UNCONFIRMED } from "./cards";
import { findCommand, parseCommand, type BotMessage, type Sender } from "./commands";

/** What a handler of a command is given, what it returns, and how that is sent. */

/** A command as it was sent. */
export type CommandRequest = {
  updateId: number;
  sender: Sender;
  /** The user the sender's account is linked to, or else, for alerts, the account itself; "" for neither. */
  userId: string;
  /** What followed the command, trimmed; "" for nothing. */
  argument: string;
  /** Whether a button sent it: some things are done by a tap only, and not by typed words. */
  isTap: boolean;
  /** Epoch ms. */
  now: number;
};

/** What is answered: nothing, if there are no paragraphs. */
export const vCommandOutcome = v.object({
  answer: v.array(v.array(vSpan)),
  buttons: v.optional(vButtons),
  picture: v.optional(vPicture),
});

export type CommandOutcome = {
  answer: readonly Paragraph[];
  buttons?: readonly (readonly Button[])[] | undefined;
  picture?: Picture | undefined;
};

/** Words alone. */
export function reply(...words: Paragraph): CommandOutcome {
  return { answer: buildNotice(...words) };
}

export function askWhichToken(command: string): CommandOutcome {
  return reply("Name one token by its symbol, such as ", { command }, " BTC.");
}

/** The outcome of a command; if it is refused, the reason is the answer. */
export async function answerOrReason(
  attempt: () => CommandOutcome | Promise<CommandOutcome>,
): Promise<CommandOutcome> {
  try {
    return await attempt();
  } catch (error) {
    const failure = getErrorData(error);
    if (failure === null) throw error;
    return reply(explainRefusal(failure));
  }
}

/**
 * Queues the answer to a message, once, for the chat and topic that it came from, through the bot that it was written
 * to. Some answers to a tap take the place of the message with the button.
 */
export async function putAnswer(
  ctx: MutationCtx,
  message: BotMessage,
  outcome: CommandOutcome,
): Promise<void> {
  const { updateId, sender, text, tapped } = message;
  const { answer: paragraphs, buttons, picture } = outcome;
  if (paragraphs.length === 0) return;
  const link = sender.alone ? await findLinkOfMessenger(ctx, sender.messengerId) : null;
  const isUnconfirmed = link !== null && link.confirmedAt === undefined;
  const isInPlace = findCommand(parseCommand(text)?.name ?? "")?.traits.includes("inPlace") === true;
  await enqueueCard(ctx, {
    // An answer to a group belongs to the group, and is not part of one user's data.
    userId: link?.confirmedAt === undefined ? "" : link.userId,
    chatId: formatPlace(sender),
    bot: "default",
    kind: ANSWER,
    key: `update:${updateId}`,
    paragraphs: isUnconfirmed ? [UNCONFIRMED, ...paragraphs] : paragraphs,
    buttons,
    picture,
    replaces: isInPlace ? tapped : undefined,
  });
}
