import { v, type Infer } from "convex/values";
import type { MutationCtx } from "../_generated/server";
import type { ChatAccount } from "../accounts/chats";
import { getErrorData } from "../lib/errors";
import { explainRefusal, type Button, type Paragraph } from "../messenger/format";
import { ANSWER, enqueueCard, findLinkOfMessenger, formatPlace } from "../messenger/model";
import { vButtons, vPicture, vSecret, vSpan, type Picture, type Secret } from "../messenger/tables";
import { UNCONFIRMED_LINK_WARNING } from "./cards";
import {
  buildPrivateLink,
  findCommand,
  isForGroups,
  menu,
  parseCommand,
  type BotMessage,
  type CommandName,
  type Sender,
} from "./commands";
import { vExchange } from "./tables";

/** The request of a command's handler, its outcome, the help, and the delivery of an answer. */

/** A command as it was sent. */
export type CommandRequest = {
  updateId: number;
  sender: Sender;
  /** The user of the sender's linked account, or else, for alerts, the account itself; "" for neither. */
  userId: string;
  /** The text behind the command, trimmed; "" for nothing. */
  argument: string;
  /** Whether a button sent it: some changes need a tap, and typed words are not enough. */
  isTap: boolean;
  /** Epoch ms. */
  now: number;
};
/** A request that an action answers, with the account of the sender's chat. */
export type ActionRequest = CommandRequest & { chatAccount: ChatAccount };

/** The answer to a command; no paragraphs for no answer. */
export const vCommandOutcome = v.object({
  answer: v.array(v.array(vSpan)),
  buttons: v.optional(vButtons),
  picture: v.optional(vPicture),
  secret: v.optional(vSecret),
  /** The question that it answers, with the words of the answer, to be stored with it. */
  exchange: v.optional(vExchange),
});

export type CommandOutcome = {
  answer: readonly Paragraph[];
  buttons?: readonly (readonly Button[])[] | undefined;
  picture?: Picture | undefined;
  secret?: Secret | undefined;
  exchange?: Infer<typeof vExchange>;
};

/** An answer, or with `command` a command that a mutation answers (`handlers`). */
export type MessageAnswer = CommandOutcome | { command: CommandName; argument: string; owner: string };

/** An answer of words alone. */
export function reply(...words: Paragraph): CommandOutcome {
  return { answer: [words] };
}

/** A question that a tap answers: what is asked, what it means, and the button. */
export function buildQuestion(title: string, meaning: Paragraph, tap: Button): CommandOutcome {
  return { answer: [[{ bold: title }], meaning], buttons: [[tap]] };
}

export function askWhichToken(command: string): CommandOutcome {
  return reply("Name one token by its symbol, such as ", { command }, " BTC.");
}

/** The help's sections, by the word of the button: the commands of the menu from one on. */
const SECTIONS: readonly { word: string; title: string; from: CommandName }[] = [
  { word: "prices", title: "🔔 Prices and alerts", from: "price" },
  { word: "signals", title: "📈 Signals and whales", from: "signals" },
  { word: "research", title: "🔬 Research", from: "research" },
  { word: "wallet", title: "💳 Wallet and orders", from: "wallet" },
  { word: "safety", title: "🔐 Safety and logins", from: "freeze" },
  { word: "account", title: "🤖 Account and AI", from: "me" },
];

export const HELP_BUTTONS: readonly (readonly Button[])[] = [0, 2, 4].map((at) =>
  SECTIONS.slice(at, at + 2).map(({ word, title }) => ({ text: title, command: `help ${word}` })),
);

/** The help: what the bot is, or the commands of a section. @param word The section's; any other word shows the first. */
export function buildHelp(word = "", introduction?: string): CommandOutcome {
  const at = SECTIONS.findIndex((one) => one.word === word);
  const section = SECTIONS[at];
  const findPlace = (from: CommandName | undefined) => menu.findIndex(({ name }) => name === from);
  const next = findPlace(SECTIONS[at + 1]?.from);
  const lines = menu
    .slice(findPlace(section?.from), next === -1 ? undefined : next)
    .flatMap(({ name, argument, summary }): Paragraph => [
      "\n",
      { command: name },
      `${argument === "" ? "" : ` ${argument}`}: ${summary}`,
    ]);
  const about: Paragraph[] = [
    ["I follow crypto markets, alert you, research, and keep a wallet. I move nothing without your tap."],
    ["Say what you want in your own words, or choose:"],
  ];
  return {
    answer: [
      ...(introduction === undefined ? [] : [[{ bold: introduction }]]),
      ...(section === undefined ? about : [[{ bold: section.title }, ...lines]]),
    ],
    buttons: HELP_BUTTONS,
  };
}

/** The outcome of a command, or the reason of its refusal as an answer. */
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

/** A group's buttons: those for private chats lead there, and so leave the group's card as it is. */
function leadToPrivateChat(buttons: readonly (readonly Button[])[]): Button[][] {
  const rows = buttons.map((row) =>
    row.flatMap((button): Button[] => {
      if (!("command" in button) || isForGroups(button.command)) return [button];
      const href = buildPrivateLink(button.command);
      return href === null ? [] : [{ text: button.text, href }];
    }),
  );
  return rows.filter((row) => row.length > 0);
}

/**
 * Queues the answer to a message, once, for the chat and topic of the message. Some answers to a tap replace the message of
 * the button.
 */
export async function enqueueAnswerCard(
  ctx: MutationCtx,
  message: BotMessage,
  outcome: CommandOutcome,
): Promise<void> {
  const { updateId, sender, text, tapped } = message;
  const { answer: paragraphs, buttons, picture, secret } = outcome;
  if (paragraphs.length === 0) return;
  const link = sender.alone ? await findLinkOfMessenger(ctx, sender.messengerId) : null;
  const isUnconfirmed = link !== null && link.confirmedAt === undefined;
  const command = findCommand(parseCommand(text)?.name ?? "");
  // A list of alerts would stand under the chart of one.
  const isUnderChart = command?.name === "alerts" && tapped?.isPicture === true;
  const isInPlace = !isUnderChart && command?.traits.includes("inPlace") === true;
  await enqueueCard(ctx, {
    // An answer to a group belongs to the group, and is not part of one user's data.
    userId: link?.confirmedAt === undefined ? "" : link.userId,
    chatId: formatPlace(sender),
    bot: "default",
    kind: ANSWER,
    key: `update:${updateId}`,
    paragraphs: isUnconfirmed ? [UNCONFIRMED_LINK_WARNING, ...paragraphs] : paragraphs,
    buttons: sender.alone ? buttons : buttons && leadToPrivateChat(buttons),
    picture,
    secret,
    replaces: isInPlace ? tapped : undefined,
  });
}
