import { createFunctionHandle } from "convex/server";
import { v } from "convex/values";
import { pick } from "convex-helpers";
import { parse } from "convex-helpers/validators";
import { internal } from "../_generated/api";
import { internalAction, type ActionCtx } from "../_generated/server";
import type { ChatAccount } from "../accounts/chats";
import { buildProposalCard, buildClarificationCard } from "../alerts/cards";
import { answerStandingWords, answerTap, TAP_COMMAND } from "../alerts/chat";
import { ALERT_EXAMPLES, isMeasured, NO_MODEL_NOW } from "../alerts/conditions";
import { answerAlertWords, type AlertAnswer } from "../alerts/service";
import { parseAlertLine, parseStandingOrder } from "../alerts/words";
import { getOptional, getRequired, getSiteUrl } from "../lib/env";
import { AppError, getErrorData, getErrorMessage } from "../lib/errors";
import { explainRefusal } from "../messenger/format";
import { charge } from "../platform/limits/charges";
import { log } from "../lib/log";
import { takeUsage, withUsage } from "../platform/outside/calls";
import { isKeyRequest, SECURITY_MESSAGE } from "../lib/keyRequests";
import { MINUTE, SECOND, sleep } from "../lib/time";
import { defineWorker } from "../platform/worker";
import { resolveFocus } from "../market/listing";
import { isChatUser, toChatUser } from "../messenger/model";
import { getBotUsername, registerWebhook as registerAt, showTyping } from "../providers/messenger";
import { buildSnapshotCard } from "../research/cards";
import { getFreshResult } from "../research/onDemand";
import { readPortfolio } from "../wallets/holdings";
import { vWatched } from "./arrivals";
import {
  EXPOSED_CODE_WARNING,
  INTERNAL_FAILURE,
  explainMissingAccount,
  ALERT_ONLY_NOTE,
  PRIVATE_ONLY,
} from "./cards";
import { answerPrice, actionHandlers } from "./actionHandlers";
import { answerByModel, toCaller } from "./assistant";
import {
  findCommand,
  isAnsweredBy,
  menu,
  type CommandsBy,
  parseFocus,
  parseCommand,
  hasCode,
  vMessage,
  type BotMessage,
  type Sender,
} from "./commands";
import { explainOrderSyntax, looksLikeOrder, proposeOrder, parseOrder, WAITING_WORDS } from "./orders";
import { parsePhrase } from "./phrases";
import {
  askWhichToken,
  buildHelp,
  HELP_BUTTONS,
  reply,
  vCommandOutcome,
  type ActionRequest,
  type CommandOutcome,
  type CommandRequest,
} from "./outcomes";

/** Answers one message. Its text is data, whoever wrote it; a tapped button stands for its command. */
export const answerMessage = defineWorker(vMessage.fields, async (ctx, { job, ...message }) => {
  const { sender } = message;
  const { messengerId } = sender;
  const chatAccount: ChatAccount = await ctx.runQuery(internal.accounts.chats.getStanding, { messengerId });
  // A group sees the bot type only after a mention is known to be this bot's.
  const to = parseCommand(message.text)?.to ?? message.to ?? "";
  if (to !== "" && !sender.alone && !(await isThisBot(to))) return "over";
  const worked = await showTypingWhile(
    sender,
    answerText(ctx, message, chatAccount).catch((error: unknown) => explainFailure(error, message.text)),
  );
  if ("bind" in worked) {
    const { bind: name, argument, owner } = worked;
    await ctx.runMutation(internal.bot.handlers.bind, { ...message, job, name, argument, userId: owner });
  } else {
    const outcome = parse(vCommandOutcome, worked);
    // `/wallet here` has just linked the chat to another user than the one that was read above.
    const told = message.text === "/wallet here" ? null : chatAccount.userId;
    const stored = { ...message, job, userId: told, outcome, usage: takeUsage() };
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
    return sender.alone ? answerWords(ctx, request, forwarded) : answerByModel(ctx, request);
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
  if (isAnsweredBy("mutation", name)) return { bind: name, argument, owner };
  return HANDLERS[name](ctx, { ...request, userId: owner });
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

/** An answer, or with `bind` a command that a mutation answers (`handlers`). */
type MessageAnswer = CommandOutcome | { bind: CommandsBy<"mutation">; argument: string; owner: string };
type ActionHandler = (ctx: ActionCtx, request: ActionRequest) => Promise<MessageAnswer>;

/** Longer than any research takes, and shorter than the lease of an attempt. */
const PATIENCE_MS = 8 * MINUTE;

const HANDLERS: Readonly<Record<CommandsBy<"action">, ActionHandler>> = {
  ...actionHandlers,

  /** Words make a proposal; taps on buttons (`set ID`, `off ID` …) change it. Safe to run twice. */
  alert: async (ctx, request) => {
    const { userId, argument, isTap } = request;
    if (argument === "") return reply(ALERT_EXAMPLES);
    if (TAP_COMMAND.test(argument) && isTap)
      return answerTap(ctx, userId, argument, request.sender.messengerId);
    if (TAP_COMMAND.test(argument)) return { bind: "alerts", argument, owner: userId };
    const standingOrder = parseStandingOrder(argument);
    if (standingOrder !== null) return proposeStanding(ctx, request, standingOrder);
    const caller = toCaller(request);
    await charge(ctx, "alert", caller);
    return toAlertOutcome(await answerAlertWords(ctx, caller, { userId }, argument));
  },

  /** The stored result while it is fresh; otherwise new research. */
  research: async (ctx, request) => {
    const caller = toCaller(request);
    const line = `research ${request.argument}`;
    if (parseAlertLine(line) !== null && request.sender.alone)
      return toAlertOutcome(await answerAlertWords(ctx, caller, toOwner(request), line));
    const requestedFocus = parseFocus(request.argument);
    if (requestedFocus === null) return askWhichToken("research");
    const focus = await resolveFocus(ctx, requestedFocus === "" ? undefined : requestedFocus, caller);
    const stored = await getFreshResult(ctx, focus, caller, { patienceMs: PATIENCE_MS });
    if (stored === null) return reply("This takes too long just now. Please try again in a few minutes.");
    const button = (text: string, command: string) => ({ text, command: `${command} ${focus}`.trim() });
    return {
      answer: buildSnapshotCard(focus, stored, getSiteUrl()),
      buttons: [[button("Full text", "report"), button("Follow for 8 h", "follow")]],
    };
  },

  ask: async (ctx, request) =>
    request.argument === ""
      ? reply("Put your question after the command: ", { command: "ask" }, " How is Ethereum doing?")
      : answerByModel(ctx, request),
};

/** Plain words in a private chat: an order, an alert, or a question. */
async function answerWords(
  ctx: ActionCtx,
  request: ActionRequest,
  forwarded: boolean,
): Promise<CommandOutcome> {
  const { userId, argument: text } = request;
  const order = forwarded ? null : parseOrder(text);
  const isNear = !forwarded && order === null && looksLikeOrder(text);
  if (order !== null && userId === "") return explainMissingAccount(request.chatAccount);
  if (order !== null) return proposeOrder(ctx, request, order);
  const standingOrder = forwarded ? null : parseStandingOrder(text);
  if (standingOrder !== null) return proposeStanding(ctx, request, standingOrder);
  if (isNear && !WAITING_WORDS.test(text)) return explainOrderSyntax(text);
  const alert = await answerAlertWords(ctx, toCaller(request), toOwner(request), text);
  if (alert.kind === "none") return isNear ? explainOrderSyntax(text) : answerByModel(ctx, request);
  const outcome = await toAlertOutcome(alert);
  return isNear ? { ...outcome, answer: [...outcome.answer, ALERT_ONLY_NOTE] } : outcome;
}

/** The owner of a chat's alerts: the linked user, or else the chat itself. */
const toOwner = ({ userId, sender }: CommandRequest) => ({
  userId: userId === "" ? toChatUser(sender.messengerId) : userId,
});

/** The card of a standing order that a chat asked for in words. */
async function proposeStanding(
  ctx: ActionCtx,
  request: ActionRequest,
  wish: NonNullable<ReturnType<typeof parseStandingOrder>>,
): Promise<CommandOutcome> {
  const { sender, userId, chatAccount } = request;
  if (userId === "" || isChatUser(userId)) return explainMissingAccount(chatAccount);
  await charge(ctx, "alert", toCaller(request));
  return answerStandingWords(ctx, { userId, messengerId: sender.messengerId }, wish);
}

async function toAlertOutcome(answered: AlertAnswer): Promise<CommandOutcome> {
  if (answered.kind === "open") return buildClarificationCard(answered);
  if (answered.kind !== "proposed") return reply(answered.advice);
  const { alert, present } = answered.proposed;
  const card = buildProposalCard(alert, present);
  if (!isMeasured(alert.condition)) return card;
  const handle = await createFunctionHandle(internal.pictures.drawings.alert);
  return { ...card, picture: { handle, subject: JSON.stringify(alert.condition) } };
}

/** Reads a watched wallet once, which records new deposits as moves, and tells its chat of them. */
export const lookAtWallet = defineWorker(vWatched, async (ctx, watched) => {
  await readPortfolio(ctx, pick(watched, ["walletId", "address"]), false);
  await ctx.runMutation(internal.bot.arrivals.tellArrivals, watched);
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
    await registerAt(token, {
      webhook,
      secret: getRequired("MESSENGER_WEBHOOK_SECRET"),
      menu: menu.map(({ name, summary }) => ({ command: name, description: summary })),
    });
    return { bot: `@${bot}`, webhook, commands: menu.length };
  }),
});
