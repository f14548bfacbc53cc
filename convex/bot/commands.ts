import type { MutationCtx } from "../_generated/server";
import { failureOf } from "../lib/errors";
import { reasonOf } from "../lib/text/failures";
import type { Button, Paragraph } from "../messenger/format";
import { enqueueCard, linkOfAccount, userOfAccount, written } from "../messenger/model";
import { ANSWER } from "../messenger/notices";
import type { Picture } from "../messenger/tables";
import { helpCard, notice, UNCONFIRMED } from "./cards";
import { parseCommand } from "./grammar";
import type { Message, Sender } from "./tables";

/**
 * The bot's commands: answers, help and the messenger's menu are made from this list, in its order. And what all share:
 * what they are asked, what they answer, and where the answer goes.
 */

/**
 * Who may use it where. `anywhere`: in groups too, by anybody. `alone`: in a chat with the bot alone. `own`: there, by the
 * linked user or else by the account itself, which has alerts without any other. `linked`: there, and by a linked user.
 */
type Access = "anywhere" | "alone" | "own" | "linked";
/**
 * `inPlace`: the answer to a tap replaces the message with the button. `hidden`: for buttons, neither help nor menu names
 * it. `binds`: it commits its sender to something, so a forwarded message cannot do it.
 */
type Trait = "inPlace" | "hidden" | "binds";

export type Command = {
  /** Without the slash: lower-case letters, digits and _. */
  name: string;
  /** Its arguments, for the help: `CODE`, `[TOKEN]`. */
  argument: string;
  access: Access;
  /** One line for help and menu. */
  summary: string;
  traits: readonly Trait[];
};

/** @param usage The name, and the arguments behind it. */
function command(usage: string, access: Access, summary: string, ...traits: Trait[]): Command {
  const [, name = "", argument = ""] = /^(\w+) ?(.*)$/.exec(usage) ?? [];
  return { name, argument, access, summary, traits };
}

export const commands: readonly Command[] = [
  command("price COIN", "anywhere", "What a coin costs; its name alone works too", "inPlace"),
  command("alert WORDS", "own", "Get an alert when something happens, in your own words", "inPlace"),
  command("alerts", "own", "Your alerts, to switch them on and off", "inPlace"),
  command("signals [TOKEN]", "anywhere", "The latest trading signals of BTC and ETH", "inPlace"),
  command("record", "anywhere", "How the signals have done, against chance", "inPlace"),
  command("whales [HOURS]", "anywhere", "Whale alerts of the last hours: 6, or up to 168", "inPlace"),
  command("research [TOKEN]", "anywhere", "A research snapshot of a token, or of the whole market"),
  command("report [TOKEN]", "anywhere", "The whole text of the last research"),
  command("sources [TOKEN]", "anywhere", "The sources of the last research"),
  command("follow [TOKEN]", "linked", "Start a research shift of eight hours"),
  command("stop [TOKEN]", "linked", "Stop your research shifts, or that of a token", "inPlace"),
  command("status", "linked", "How your research shift is doing"),
  command("ask QUESTION", "anywhere", "Ask the crypto assistant; a plain question works too"),
  command("wallet", "linked", "Your wallet's address"),
  command("portfolio", "linked", "What your wallet holds, at live prices"),
  command("swap AMOUNT TOKEN to TOKEN", "linked", "Swap, after a tap of yours", "binds"),
  command(
    "send AMOUNT TOKEN to ADDRESS",
    "linked",
    "Send to a listed address, after a tap of yours",
    "binds",
  ),
  command("recipients [add ADDRESS]", "linked", "The addresses that you send to", "inPlace", "binds"),
  command("freeze", "alone", "Stop everything that moves your money, at once", "binds"),
  command("unfreeze", "linked", "End a freeze two hours from now, if this chat is your only login", "binds"),
  command("newid", "linked", "Replace an account id that has leaked with a new one", "inPlace", "binds"),
  command("start", "anywhere", "Say hello", "binds"),
  command("connect CODE", "alone", "Link this account to yours in the web application", "binds"),
  command("unlink", "alone", "Unlink this account"),
  command("own CODE", "alone", "Own the wallet of a link", "inPlace", "hidden", "binds"),
  command("approve", "linked", "Answer what you were asked", "inPlace", "hidden", "binds"),
  command("refuse", "linked", "Answer what you were asked", "inPlace", "hidden", "binds"),
  command("help", "anywhere", "What I can do"),
];

/** The command of a name (lower case), or `null`. */
export function commandNamed(name: string): Command | null {
  return commands.find((one) => one.name === name) ?? null;
}

/** What the bot can do, after an introduction. */
export function help(introduction?: string): Paragraph[] {
  return helpCard(
    commands.filter(({ traits }) => !traits.includes("hidden")),
    introduction,
  );
}

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
