import { pick } from "convex-helpers";
import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { findDifference } from "../alerts/restating";
import { parseAlertLine } from "../alerts/words";
import { DEFAULT_AGENT } from "../chat/agents";
import { answerChat, NOTHING_DONE } from "../chat/replies";
import type { ChatTurn } from "../chat/runs";
import { sha256Hex } from "../lib/crypto";
import { getRequired } from "../lib/env";
import { AppError } from "../lib/errors";
import { toParagraphs, type Button } from "../messenger/format";
import { isChatUser } from "../messenger/model";
import type { Caller } from "../platform/limits/callers";
import { DOLLARS, SHARES } from "../wallets/tokens";
import { findToken } from "../wallets/tokens";
import { findCommand, menu, parseCommand, type CommandName } from "./commands";
import { parseOrder } from "./orders";
import { HELP_BUTTONS, type CommandOutcome, type CommandRequest } from "./outcomes";

/** Questions that a model answers. In a private chat it may propose what the bot can do. For actions. */

/** The caller of a command: the linked user, or the messenger's account alone. */
export function toCaller({ sender, userId }: CommandRequest): Caller {
  return userId === "" || isChatUser(userId)
    ? { identity: sha256Hex(`messenger:${sender.messengerId}`), address: null }
    : { userId, address: null, signedIn: true };
}

/** The model's answer to a question. */
export async function answerByModel(ctx: ActionCtx, request: CommandRequest): Promise<CommandOutcome> {
  const { sender, userId, argument: question } = request;
  const caller = toCaller(request);
  getRequired("LLM_GATEWAY_API_KEY");
  // A private chat is the user's own. A group gets nothing personal.
  const { messengerId, alone: isPrivate } = sender;
  const asker = isPrivate ? { messengerId, userId } : null;
  const messages: ChatTurn[] = await ctx.runMutation(internal.bot.questions.beginQuestion, { caller, asker });
  const response = await answerChat(ctx, {
    ...{ agentId: DEFAULT_AGENT, question, messages, caller, personal: isPrivate },
    ...(isPrivate ? { functions: FUNCTIONS } : {}),
  });
  const { answer: written, proposed } = response;
  const exchange = isPrivate
    ? { exchange: { question, ...pick(response, ["answer", "model", "tokensUsed"]) } }
    : {};
  const answer = toParagraphs(written, response.sources);
  // What the person said last, and what the bot asked about.
  const words = [...messages.slice(-2).filter(({ role }) => role === "user"), { content: question }];
  const text = words.map(({ content }) => content).join("\n");
  const button = proposed === null ? null : checkProposal(proposed, text);
  if (button !== null)
    return {
      ...exchange,
      answer: written === NOTHING_DONE ? [["Tap to do that:"]] : answer,
      buttons: [[button]],
    };
  if (isPrivate && (proposed !== null || written === NOTHING_DONE))
    return {
      ...exchange,
      answer: [...answer, ["What I do is behind these, and begins with your tap:"]],
      buttons: HELP_BUTTONS,
    };
  if (answer.length === 0) throw new AppError("upstream", "The model's answer had no words: ask again");
  return { ...exchange, answer };
}

/**
 * A model may propose one command. Code checks it against the person's own words and shows it as a button. The tap does
 * what the typed command would do, so an order still asks its owner.
 */

/** Never proposed: sends, recipients and logins, what loosens or ends something at once, and what asks a model again. */
const WITHHELD: readonly CommandName[] = [
  ...(["send", "recipients", "login", "connect", "unlink", "unfreeze", "ask", "start"] as const),
];

/** The functions for the model, a line for each. */
const FUNCTIONS = menu
  .map(({ name, argument, summary }) => `/${name}${argument === "" ? "" : ` ${argument}`}: ${summary}`)
  .join("\n");

const COIN = /^[A-Za-z0-9][A-Za-z0-9.$-]{0,19}$/;

/**
 * By command: whether its argument agrees with the person's own words. A command that is not listed is proposed without
 * one.
 */
const ARGUMENT_CHECKS: Partial<Record<CommandName, (argument: string, words: string) => boolean>> = {
  price: (argument) => COIN.test(argument),
  signals: (argument) => COIN.test(argument),
  research: (argument) => COIN.test(argument),
  report: (argument) => COIN.test(argument),
  follow: (argument) => COIN.test(argument),
  stop: (argument) => COIN.test(argument),
  whales: (argument, words) => listNumbers(words).includes(argument),
  alert: (argument, words) => {
    const condition = parseAlertLine(argument);
    return condition !== null && findDifference(condition, argument, words, []) === null;
  },
  swap: (argument, words) => namesSwap(argument, words),
};

/** Numbers as they are written, without signs of currencies. */
const listNumbers = (text: string): string[] => text.match(/\d+(?:[.,]\d+)*/g) ?? [];

/** Whether the words name a swap's amount, with its sign, then the token that leaves, and somewhere the other one. */
function namesSwap(argument: string, words: string): boolean {
  const order = parseOrder(`swap ${argument}`);
  if (order?.kind !== "swap") return false;
  const split = (text: string) =>
    text
      .toLowerCase()
      .replace(/[^\x20-\x7e]/g, " ")
      .replace(/(?<=\d)(?=[a-z])|(?<=[a-z])(?=\d)|[$%]/g, " $& ")
      .split(/[^a-z0-9.$%]+/);
  const said = split(words).map((word) => word.replace(/\.$/, ""));
  const amounts = split(argument).filter((part) => /\d/.test(part) || SHARES.has(part));
  const [at = -1, ...others] = amounts.map((part) => said.indexOf(part));
  const tokens = said.map((word) => findToken(word));
  const has = (sign: "$" | "%") =>
    said.some((word) => word === sign || (sign === "$" && DOLLARS.has(word))) === argument.includes(sign);
  return (
    at >= 0 &&
    others.length === 0 &&
    has("$") &&
    has("%") &&
    tokens.slice(at).find((token) => token !== null) === order.fromToken &&
    tokens.includes(order.toToken)
  );
}

/**
 * The button of a model's proposal; `null` if it is withheld, or says something that the person did not.
 * @param proposed A command with its words, without the slash.
 * @param words The person's own, with those that the bot's question was about.
 */
export function checkProposal(proposed: string, words: string): Extract<Button, { command: string }> | null {
  const { name = "", argument = "" } = parseCommand(`/${proposed}`) ?? {};
  const command = findCommand(name);
  if (command === null || command.summary === "" || WITHHELD.includes(command.name)) return null;
  const isFit = argument === "" || ARGUMENT_CHECKS[command.name]?.(argument, words) === true;
  if (!isFit || (argument === "" && /^(?:swap|alert)$/.test(name))) return null;
  // A freeze is asked for once more: the idea was not the person's alone.
  const tapped = name === "freeze" ? "pause" : name;
  const text = `▶ ${name.charAt(0).toUpperCase()}${name.slice(1)} ${argument}`.trim();
  const button = { text, command: `${tapped} ${argument}`.trim() };
  return button.command.length > 64 ? null : button;
}
