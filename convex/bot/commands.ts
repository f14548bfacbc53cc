import { v, type Infer } from "convex/values";
import type { MutationCtx } from "../_generated/server";
import { getErrorData } from "../lib/errors";
import { explainRefusal } from "../messenger/failures";
import { resolveSymbol } from "../lib/money/coins";
import { PRINTABLE } from "../platform/records";
import { trimTrailing } from "../lib/text/strings";
import type { Button, Paragraph } from "../messenger/format";
import { ANSWER, CODE_LENGTH, enqueueCard, findLinkOfMessenger, formatPlace } from "../messenger/model";
import { vButtons, vPicture, vSpan, type Picture } from "../messenger/tables";
import { buildNotice, UNCONFIRMED } from "./cards";

/**
 * What is said to the bot and what it answers: the messages, how they are read, the commands, and where an answer goes.
 * Answers, help and the messenger's menu are made from the one list of commands, in its order.
 */

/** Who wrote to the bot, and where. */
const vSender = v.object({
  chatId: v.string(),
  /** The topic in the chat. */
  threadId: v.optional(v.number()),
  /** A chat of the sender with the bot alone. */
  alone: v.boolean(),
  /** The messenger's id of the account; of the group or channel for which somebody speaks. */
  messengerId: v.string(),
  messengerUsername: v.optional(v.string()),
});
export type Sender = Infer<typeof vSender>;

/** A message to the bot, or a tapped button as if its command had been typed. */
export const vMessage = v.object({
  updateId: v.number(),
  sender: vSender,
  /** "" for a picture or a recording without words. */
  text: v.string(),
  /** Forwarded words of somebody else. */
  forwarded: v.boolean(),
  /** In a group: the bot to which the words are said, lower case without the @; "" for this one, to which they reply. */
  to: v.optional(v.string()),
  /** The message below which a button was tapped. */
  tapped: v.optional(v.object({ messageId: v.number(), isPicture: v.boolean() })),
});
export type BotMessage = Infer<typeof vMessage>;

export type ParsedCommand = {
  /** Lower case, without the slash. */
  name: string;
  /** The bot it names, lower case without the @; `null` when it names none. */
  to: string | null;
  /** The rest, trimmed; "" if there is none. */
  argument: string;
};

const COMMAND = /^\/([A-Za-z0-9_]{1,32})(?:@([A-Za-z0-9_]{1,64}))?(?:\s([\s\S]*))?$/;

/** Letters of other scripts that look like those of `freeze`. */
const LOOKALIKES: Readonly<Record<string, string>> = {
  ƒ: "f",
  ғ: "f",
  г: "r",
  е: "e",
  є: "e",
  ε: "e",
  ʐ: "z",
  ᴢ: "z",
};

/** Whether a word is meant to stop everything, however it is spelled: a freeze can be ended, and a late one cannot help. */
function isFreeze(word: string): boolean {
  const letters = Array.from(
    word
      .toLowerCase()
      .normalize("NFKD")
      .replace(/[\p{M}\p{Cf}]/gu, ""),
  );
  return /^\/?f+r+e+z+e*[.!]*$/.test(letters.map((one) => LOOKALIKES[one] ?? one).join(""));
}

/** `/name argument` or `/name@bot argument`; `null` for any other text. */
export function parseCommand(text: string): ParsedCommand | null {
  const [all = "", word = ""] = /^[\s\p{Cf}]*(\S{1,200})[^]*$/u.exec(text) ?? [];
  const said = text.slice(all.length === 0 ? 0 : text.indexOf(word) + word.length);
  const head = word.normalize("NFKC").replace(/\p{Cf}/gu, "");
  const isAlone = said.trim() === "" || head.startsWith("/");
  if (isAlone && isFreeze(head)) return { name: "freeze", to: null, argument: "" };
  const [matched, name = "", to, argument = ""] = COMMAND.exec((head + said).trim()) ?? [];
  if (matched === undefined) return null;
  return { name: name.toLowerCase(), to: to?.toLowerCase() ?? null, argument: argument.trim() };
}

/** A code as it stands in a link to the bot, whose other words (a campaign's, say) say nothing. */
const CODE = new RegExp(`^[2-9A-HJ-NP-Z]{${CODE_LENGTH}}$`, "i");

/** Whether a command carries what may be a link code. */
export function hasCode({ name, argument }: ParsedCommand): boolean {
  return name === "start" ? CODE.test(argument) : name === "connect" && argument !== "";
}

const LONGEST_NAME = 60;

/** What somebody has named, without quotation marks around it and the end of a sentence behind it. */
export function bareName(words: string): string {
  return trimTrailing(words.replace(/^[\s"'“”„«»‘’‚]+/, ""), " \n\t\"'“”«»‘’.,;:!?");
}

/** A token's symbol or name; empty if none is named, `null` if the words can be neither. */
export function parseFocus(words: string): string | null {
  const argument = bareName(words);
  if (argument === "") return "";
  return Array.from(argument).length <= LONGEST_NAME && PRINTABLE.test(argument)
    ? resolveSymbol(argument)
    : null;
}

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

export type BotCommand = {
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
function command(usage: string, access: Access, summary: string, ...traits: Trait[]): BotCommand {
  const [, name = "", argument = ""] = /^(\w+)(?: (.*))?$/.exec(usage) ?? [];
  return { name, argument, access, summary, traits };
}

export const commands: readonly BotCommand[] = [
  command("price COIN", "anywhere", "What a coin costs; its name alone works too", "inPlace"),
  command("alert WORDS", "own", "Get an alert when something happens, in your own words", "inPlace"),
  command("alerts", "own", "Your alerts, to switch them on and off", "inPlace"),
  command("signals [TOKEN]", "anywhere", "The latest trading signals of BTC and ETH", "inPlace"),
  command("record", "anywhere", "How the signals have done, against chance", "inPlace"),
  command("whales [HOURS]", "anywhere", "Whale alerts of the last hours: 6, or up to 168", "inPlace"),
  command("research [TOKEN]", "anywhere", "A research snapshot of a token, or of the whole market"),
  command("report [TOKEN]", "anywhere", "The whole text of the last research, with its sources"),
  command("follow [TOKEN]", "linked", "Start a research shift of eight hours"),
  command("stop [TOKEN]", "linked", "Stop your research shifts, or that of a token", "inPlace"),
  command("status", "linked", "How your research shift is doing"),
  command("ask QUESTION", "anywhere", "Ask the crypto assistant; a plain question works too"),
  command("portfolio", "linked", "Your wallet: its address, and what it holds at live prices"),
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
  command("connect CODE", "alone", "Link this account to yours in the web application", "inPlace", "binds"),
  command("unlink", "alone", "Unlink this account"),
  command("own CODE", "alone", "Own the wallet of a link", "inPlace", "hidden", "binds"),
  command("approve", "linked", "Answer what you were asked", "inPlace", "hidden", "binds"),
  command("refuse", "linked", "Answer what you were asked", "inPlace", "hidden", "binds"),
  command("help", "anywhere", "What I can do"),
];

/** The command of a name (lower case), or `null`. */
export function findCommand(name: string): BotCommand | null {
  return commands.find((one) => one.name === name) ?? null;
}

/** The commands that help and menu name. */
export const menu = commands.filter(({ traits }) => !traits.includes("hidden"));

/** What the bot can do, after an introduction: one line each, those for everybody first. */
export function buildHelp(introduction?: string): Paragraph[] {
  const isOwn = ({ access }: BotCommand) => access === "linked" || access === "alone";
  const lines = (some: readonly BotCommand[]) =>
    some.flatMap(({ name, argument, summary }): Paragraph => [
      "\n",
      { command: name },
      `${argument === "" ? "" : ` ${argument}`}: ${summary}`,
    ]);
  return [
    ...(introduction === undefined ? [] : [[{ bold: introduction }]]),
    ["I follow crypto markets, run research, and show your wallet. I move nothing without your tap."],
    [{ bold: "For everybody" }, ...lines(menu.filter((one) => !isOwn(one)))],
    [{ bold: "For your account" }, ...lines(menu.filter(isOwn))],
  ];
}

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
