import type { MutationCtx } from "../../_generated/server";
import { failureOf } from "../../lib/errors";
import { reasonOf } from "../../lib/text/failures";
import type { Button, Paragraph } from "../../messenger/format";
import { notice } from "../cards";
import type { Sender, Work } from "../tables";

/** The shape of a command of the bot. */

/** A command as it was sent. */
export type Request = {
  sender: Sender;
  /** The user the sender's account is linked to, or `null`. */
  userId: string | null;
  /** What followed the command, trimmed; "" for nothing. */
  argument: string;
  /** Whether a button sent it: some things are done by a tap only, and not by typed words. */
  isTap: boolean;
  /** Whether the data that it needs was already fetched for it: then it is answered with what is available. */
  isLate: boolean;
};

/**
 * The outcome of a command: an answer, or work that answers later and replaces a notice; without a notice the bot is
 * shown as typing.
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

type Base = {
  /** Without the slash: lower-case letters, digits and _. */
  name: string;
  /** Its arguments, for the help: `CODE`, `[TOKEN]`. */
  argument?: string;
  /** One line for help and menu. */
  summary: string;
  /** The answer to a tap replaces the message with the button. */
  inPlace?: true;
  /** For buttons: neither help nor menu names it. */
  hidden?: true;
  /** It commits its sender to something, so a forwarded message cannot do it. */
  binds?: true;
};

/**
 * `anywhere`: in groups too, by anybody. `alone`: in a chat with the bot alone. `own`: there, by the linked user or
 * else by the account itself, which has alerts without any other. `linked`: there, and by a linked user. Runs in the
 * transaction that receives the update, so it is done exactly once; work that calls providers is done later.
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
