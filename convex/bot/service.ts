import { v } from "convex/values";
import { pick } from "convex-helpers";
import { parse } from "convex-helpers/validators";
import { internal } from "../_generated/api";
import { internalAction, type ActionCtx } from "../_generated/server";
import type { ChatAccount } from "../accounts/chats";
import { NO_MODEL_NOW } from "../alerts/conditions";
import { getOptional, getRequired, getSiteUrl } from "../lib/env";
import { AppError, getErrorData, getErrorMessage } from "../lib/errors";
import { isKeyRequest, SECURITY_MESSAGE } from "../lib/keyRequests";
import { log } from "../lib/log";
import { SECOND, sleep } from "../lib/time";
import { explainRefusal } from "../messenger/format";
import { toChatUser } from "../messenger/model";
import { takeUsage, withUsage } from "../platform/outside/calls";
import { defineWorker } from "../platform/worker";
import { getBotUsername, registerWebhook, showTyping } from "../providers/messenger";
import { readPortfolio } from "../wallets/holdings";
import { ACTION_HANDLERS, isActionCommand } from "./actionHandlers";
import { vWatchedWallet } from "./arrivals";
import { answerByModel } from "./assistant";
import { EXPOSED_CODE_WARNING, explainMissingAccount, INTERNAL_FAILURE, PRIVATE_ONLY } from "./cards";
import { findCommand, hasCode, menu, parseCommand, vMessage, type BotMessage, type Sender } from "./commands";
import { answerFreeText } from "./freeText";
import {
  buildHelp,
  HELP_BUTTONS,
  reply,
  vCommandOutcome,
  type CommandOutcome,
  type MessageAnswer,
} from "./outcomes";
import { parsePhrase } from "./phrases";
import { answerPrice } from "./prices";

/**
 * Messages to the bot: what answers each, the sign of typing meanwhile, the look at a wallet that awaits a deposit, and the
 * registration of the webhook.
 */

/** Answers one message. Its text is data, whoever wrote it; a tapped button stands for its command. */
export const answerMessage = defineWorker(vMessage.fields, async (ctx, { job, ...message }) => {
  const { sender } = message;
  const { messengerId } = sender;
  const chatAccount: ChatAccount = await ctx.runQuery(internal.accounts.chats.getChatAccount, {
    messengerId,
  });
  // A group sees the bot type only after a mention is known to be this bot's.
  const to = parseCommand(message.text)?.to ?? message.to ?? "";
  if (to !== "" && !sender.alone && !(await isThisBot(to))) return "over";
  const answered = await showTypingWhile(
    sender,
    answerText(ctx, message, chatAccount).catch((error: unknown) => explainFailure(error, message.text)),
  );
  if ("command" in answered) {
    const { command: name, argument, owner } = answered;
    await ctx.runMutation(internal.bot.handlers.runCommand, {
      ...message,
      job,
      name,
      argument,
      userId: owner,
    });
  } else {
    const outcome = parse(vCommandOutcome, answered);
    // `/wallet here` has just linked the chat to another user than the one that was read above.
    const answeredUser = message.text === "/wallet here" ? null : chatAccount.userId;
    const stored = { ...message, job, userId: answeredUser, outcome, usage: takeUsage() };
    await ctx.runMutation(internal.bot.updates.storeBotAnswer, stored);
  }
});

async function isThisBot(name: string): Promise<boolean> {
  return (await getBotUsername(getRequired("MESSENGER_BOT_TOKEN")))?.toLowerCase() === name;
}

async function answerText(
  ctx: ActionCtx,
  { updateId, sender, text, forwarded, tapped }: BotMessage,
  chatAccount: ChatAccount,
): Promise<MessageAnswer> {
  if (text === "") return buildHelp("", "I can't hear voice messages or see pictures yet.");
  if (isKeyRequest(text)) return reply(SECURITY_MESSAGE);
  const parsed = parseCommand(text) ?? (sender.alone && !forwarded ? parsePhrase(text) : null);
  const argument = parsed?.argument ?? text.trim();
  const isTap = tapped !== undefined;
  const userId = chatAccount.userId ?? "";
  const request = { updateId, sender, userId, chatAccount, argument, isTap, now: Date.now() };
  if (parsed === null) {
    // A coin's name asks for its price, which needs no model.
    const isName = argument.split(/\s+/).length <= 3;
    const price = isName ? await answerPrice(ctx, argument) : null;
    if (price !== null) return price;
    return sender.alone ? answerFreeText(ctx, request, forwarded) : answerByModel(ctx, request);
  }
  const command = findCommand(parsed.name);
  if (command === null) return buildHelp("", `I do not know /${parsed.name}.`);
  const { name, access, traits } = command;
  if (forwarded && traits.includes("binds"))
    return reply("I do not accept that from a forwarded message. If you want it, type it here yourself.");
  if (access !== "anywhere" && !sender.alone)
    return hasCode(parsed)
      ? reply(PRIVATE_ONLY, EXPOSED_CODE_WARNING)
      : { ...reply(PRIVATE_ONLY), buttons: [[{ text: "Write to me", command: name }]] };
  // An account without a link has alerts of its own.
  const owner = userId === "" && access === "own" ? toChatUser(sender.messengerId) : userId;
  if (owner === "" && access === "linked") return explainMissingAccount(chatAccount);
  return isActionCommand(name)
    ? ACTION_HANDLERS[name](ctx, { ...request, userId: owner })
    : { command: name, argument, owner };
}

/** The answer after a failure. If only the model failed, it lists what works without one. */
function explainFailure(error: unknown, text: string): CommandOutcome {
  const failure = getErrorData(error);
  if (failure === null) {
    log.error("bot.unexpected", { message: getErrorMessage(error) });
    return reply(INTERNAL_FAILURE);
  }
  const name = parseCommand(text)?.name;
  const isModels = failure.code === "upstream" || failure.code === "not_configured";
  if (!isModels || (name !== undefined && name !== "ask")) return reply(explainRefusal(failure));
  const remaining = "Questions have to wait. A price needs no model: send a coin's name. So do these:";
  return { answer: [[NO_MODEL_NOW], [remaining]], buttons: HELP_BUTTONS };
}

/** The messenger's sign of typing lasts five seconds; no answer takes a minute. */
const [TYPING_MS, MOST_TYPING] = [4 * SECOND, 15];

/**
 * Shows the chat that the bot is typing until the work ends. The answer never waits for the messenger: the end of the work
 * cuts the call that is under way, since the platform drops whatever outlives its action.
 */
async function showTypingWhile<Result>(sender: Sender, work: Promise<Result>): Promise<Result> {
  const botToken = getOptional("MESSENGER_BOT_TOKEN");
  if (botToken === undefined) return work;
  const done = new AbortController();
  const typing = keepTyping(botToken, sender, done.signal);
  try {
    return await work;
  } finally {
    done.abort();
    await typing;
  }
}

async function keepTyping(botToken: string, sender: Sender, done: AbortSignal): Promise<void> {
  for (let shownCount = 0; shownCount < MOST_TYPING && !done.aborted; shownCount++)
    await Promise.all([showTyping(botToken, sender, done), sleep(TYPING_MS, done)]);
}

/** Reads a watched wallet once, which records new deposits as moves, and tells its chat of them. */
export const lookAtWallet = defineWorker(vWatchedWallet, async (ctx, watched) => {
  await readPortfolio(ctx, pick(watched, ["walletId", "address"]), false);
  await ctx.runMutation(internal.bot.arrivals.notifyArrivals, watched);
});

/**
 * `npx convex run --prod bot/service:register`: tells the messenger where this deployment's bot gets its messages, and
 * which commands it has. Safe to run twice.
 * @returns The bot's name and the address, never the token or the secret.
 */
export const register = internalAction({
  args: {},
  returns: v.object({ bot: v.string(), webhook: v.string(), commands: v.number() }),
  handler: withUsage(async () => {
    const token = getRequired("MESSENGER_BOT_TOKEN");
    const bot = await getBotUsername(token);
    if (bot === null)
      throw new AppError(
        "not_configured",
        "The messenger does not know MESSENGER_BOT_TOKEN: copy it again from the bot's settings",
      );
    const webhook = `${getSiteUrl()}/messenger/webhook`;
    await registerWebhook(token, {
      webhook,
      secret: getRequired("MESSENGER_WEBHOOK_SECRET"),
      menu: menu.map(({ name, summary }) => ({ command: name, description: summary })),
    });
    return { bot: `@${bot}`, webhook, commands: menu.length };
  }),
});
