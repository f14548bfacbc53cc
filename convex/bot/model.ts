import type { MutationCtx } from "../_generated/server";
import { failureOf } from "../lib/errors";
import { reasonOf } from "../lib/text/failures";
import type { Button, Paragraph } from "../messenger/format";
import { enqueueCard, linkOfAccount, userOfAccount, written } from "../messenger/model";
import { ANSWER } from "../messenger/notices";
import type { Picture } from "../messenger/tables";
import { notice, UNCONFIRMED } from "./cards";
import { commandNamed } from "./commands";
import { parseCommand } from "./grammar";
import type { Message, Sender } from "./tables";

/** What all commands share: what they are asked, what they answer, and where the answer goes. */

/** A command as it was sent. */
export type Request = {
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

/** An answer; nothing is sent if it has no paragraphs. */
export type Outcome = {
  answer: readonly Paragraph[];
  buttons?: readonly (readonly Button[])[] | undefined;
  picture?: Picture | undefined;
};

/** Words alone. */
export function reply(...words: Paragraph): Outcome {
  return { answer: notice(...words) };
}

/** The outcome of a command; if it is refused, the reason is the answer. */
export async function orReason(attempt: () => Outcome | Promise<Outcome>): Promise<Outcome> {
  try {
    return await attempt();
  } catch (error) {
    const failure = failureOf(error);
    if (failure === null) throw error;
    return reply(reasonOf(failure));
  }
}

/**
 * Queues the answer to a message, once, for the chat and topic that it came from, through the bot that it was written
 * to. Some answers to a tap take the place of the message with the button.
 */
export async function putAnswer(ctx: MutationCtx, message: Message, outcome: Outcome): Promise<void> {
  const { updateId, sender, text, tapped } = message;
  const { answer: paragraphs, buttons, picture } = outcome;
  if (paragraphs.length === 0) return;
  const link = sender.alone ? await linkOfAccount(ctx, sender.messengerId) : null;
  const isUnconfirmed = link !== null && link.confirmedAt === undefined;
  const isInPlace = commandNamed(parseCommand(text)?.name ?? "")?.traits.includes("inPlace") === true;
  await enqueueCard(ctx, {
    // An answer to a group belongs to the group, and is not part of one user's data.
    userId: sender.alone ? ((await userOfAccount(ctx, sender.messengerId)) ?? "") : "",
    chatId: written(sender),
    bot: "default",
    kind: ANSWER,
    key: `update:${updateId}`,
    paragraphs: isUnconfirmed ? [UNCONFIRMED, ...paragraphs] : paragraphs,
    buttons,
    picture,
    replaces: isInPlace ? tapped : undefined,
  });
}
