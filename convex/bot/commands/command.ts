import type { MutationCtx } from "../../_generated/server";
import { failureOf } from "../../lib/errors";
import { reasonOf } from "../../lib/text/failures";
import type { Button, Paragraph } from "../../messenger/format";
import { notice } from "../cards";
import type { Sender, Work } from "../tables";

/** What a command of the bot's is. */

/** A command as it came. */
export type Request = {
  sender: Sender;
  /** The user the sender's account is linked to, or `null`. */
  userId: string | null;
  /** What followed the command, trimmed; "" for nothing. */
  argument: string;
  /** Whether a button said it: what is armed or ended by a tap is not by words. */
  isTap: boolean;
  /** Whether what it needed was fetched for it: it is answered with what there is. */
  isLate: boolean;
};

/**
 * What becomes of a command: an answer, or work that answers later in the place of a notice; without a notice the chat
 * sees the bot typing.
 */
export type Outcome = {
  answer: readonly Paragraph[];
  buttons?: readonly (readonly Button[])[];
  later?: Work;
};

/** Words alone. */
export function reply(...words: Paragraph): Outcome {
  return { answer: notice(...words) };
}

/** What a command comes to; where it is refused, the reason is the answer. */
export async function orReason(attempt: () => Outcome | Promise<Outcome>): Promise<Outcome> {
  try {
    return await attempt();
  } catch (error) {
    const failure = failureOf(error);
    if (failure === null) throw error;
    return reply(reasonOf(failure));
  }
}

type Base = {
  /** Without the slash: lower-case letters, digits and _. */
  name: string;
  /** What may follow it, for the help: `CODE`, `[TOKEN]`. */
  argument?: string;
  /** One line for help and menu. */
  summary: string;
  /** Tapped, its answer takes the place of the message with the button. */
  inPlace?: true;
  /** For buttons: neither help nor menu names it. */
  hidden?: true;
  /** It binds its sender to somebody, so a forwarded message cannot do it. */
  binds?: true;
};

/**
 * `anywhere`: in groups too, by anybody. `alone`: in a chat with the bot alone. `own`: there, by the linked user or else by
 * the account itself, which has alerts without any other. `linked`: there, and by a linked user.
 * Runs in the transaction that takes the update, so it is done exactly once; what asks the outside is left for later.
 */
export type Command = Base &
  (
    | {
        access: "anywhere" | "alone";
        run: (ctx: MutationCtx, request: Request) => Outcome | Promise<Outcome>;
      }
    | {
        access: "linked" | "own";
        run: (ctx: MutationCtx, request: Request & { userId: string }) => Outcome | Promise<Outcome>;
      }
  );
