import { createFunctionHandle } from "convex/server";
import { v } from "convex/values";
import { pick } from "convex-helpers";
import { parse } from "convex-helpers/validators";
import { internal } from "../_generated/api";
import { internalAction, type ActionCtx } from "../_generated/server";
import { openCard, proposalCard } from "../alerts/cards";
import { answerWords, type Answered } from "../alerts/desk";
import { HOW_TO_SAY, SAID } from "../alerts/grammar";
import { DEFAULT_AGENT } from "../chat/agents";
import { answer as answerQuestion } from "../chat/replies";
import { hasEnded } from "../lib/cache";
import { optional, required, siteUrl } from "../lib/env";
import { AppError, failureOf, messageOf } from "../lib/errors";
import type { Caller } from "../lib/limits/callers";
import { charge } from "../lib/limits/charges";
import { log } from "../lib/log";
import { counted } from "../lib/outside/providerCalls";
import { sha256Hex } from "../lib/security/digests";
import { asksForKey, SECURITY_MESSAGE } from "../lib/security/keyRequests";
import { pseudonymOf } from "../lib/security/pseudonyms";
import type { Ticket } from "../lib/tables";
import { reasonOf } from "../lib/text/failures";
import { withoutTrailing } from "../lib/text/strings";
import { MINUTE, roundedNow, SECOND, sleep } from "../lib/time";
import { worker } from "../lib/work/desk";
import { focusOf } from "../market/listing";
import { connectAccount } from "../messenger/http";
import { chatUser, isChatUser } from "../messenger/model";
import { wordsAsParagraphs } from "../messenger/format";
import { botUsername, register as registerAt, showTyping } from "../providers/messenger";
import { snapshotCard } from "../research/cards";
import { portfolioOf } from "../wallets/holdings";
import { NO_WALLET } from "../wallets/model";
import { foundFor } from "../wallets/orders/rehearsal";
import { ensureWallet } from "../wallets/wallets";
import { ALREADY_LINKED, CODE_SHOWN, FAILED, FORWARDED, linkedCard, needsAccount } from "./cards";
import { notice, portfolioCard, PRIVATE_ONLY, TOO_MANY_CODES, USAGE } from "./cards";
import { commandNamed, commands, help, reply, type Outcome, type Request } from "./commands";
import { focusIn, orderIn, parseCommand, parseMention, pastedStart, showsCode, type Order } from "./grammar";
import { priceCommand, priceOutcome, startOutcome } from "./prices";
import { vMessage, vOutcome, type Message, type Sender } from "./tables";

/** One message to its answer. The text is data, no matter who wrote it; a tapped button stands for its command. */
export const answer = worker(vMessage.fields, async (ctx, { job, ...message }) => {
  const { sender } = message;
  const link = await ctx.runQuery(internal.messenger.linking.find, { messengerId: sender.messengerId });
  const userId = link?.confirmed === true ? link.userId : null;
  const asked = askedIn(message);
  // Before a group sees the bot type, it has to be known that the words are for this bot.
  if (asked.to !== null && !sender.alone && !(await isMe(asked.to))) return "over";
  const worked = await whileTyping(
    sender,
    outcomeOf(ctx, message, asked.text, userId).catch((error: unknown) => afterFailure(error, asked.text)),
  );
  if (worked === "wait") await ctx.runMutation(internal.bot.updates.wait, { ...message, job });
  else if ("bind" in worked) {
    const { bind: name, argument, owner } = worked;
    await ctx.runMutation(internal.bot.bindings.bind, { ...message, job, name, argument, userId: owner });
  } else {
    const outcome = parse(vOutcome, worked);
    await ctx.runMutation(internal.bot.updates.settle, { ...message, job, userId, outcome });
  }
});

/** The words that are meant, and the bot that they name (lower case, without the @), if they name one. */
function askedIn({ sender, text, tapped }: Message): { text: string; to: string | null } {
  const start = sender.alone ? pastedStart(text) : null;
  if (start !== null) return { text: `/start ${start}`, to: null };
  const command = parseCommand(text);
  if (command !== null || sender.alone || tapped !== undefined) return { text, to: command?.to ?? null };
  const mention = parseMention(text);
  return { text: mention?.words ?? text, to: mention?.to ?? null };
}

async function isMe(name: string): Promise<boolean> {
  return (await botUsername(required("MESSENGER_BOT_TOKEN")))?.toLowerCase() === name;
}

async function outcomeOf(
  ctx: ActionCtx,
  { updateId, sender, forwarded, tapped }: Message,
  text: string,
  userId: string | null,
): Promise<Worked> {
  if (text === "") return { answer: help() };
  if (asksForKey(text)) return reply(SECURITY_MESSAGE);
  const parsed = parseCommand(text);
  const argument = parsed?.argument ?? text.trim();
  const isTap = tapped !== undefined;
  const request: Request = { updateId, sender, userId: userId ?? "", argument, isTap, now: Date.now() };
  if (parsed === null) {
    // The name of a coin asks only for its price, which needs no model.
    const isName = argument.split(/\s+/).length <= 3;
    const price = isName ? await priceOutcome(ctx, withoutTrailing(argument, "? ")) : null;
    if (price !== null) return price;
    return sender.alone ? plainWords(ctx, request, forwarded) : answerTo(ctx, request);
  }
  const command = commandNamed(parsed.name);
  if (command === null) return { answer: help(`I do not know /${parsed.name}.`) };
  const { name, access, traits } = command;
  if (forwarded && traits.includes("binds")) return reply(FORWARDED);
  if (access !== "anywhere" && !sender.alone) return reply(PRIVATE_ONLY, showsCode(parsed) ? CODE_SHOWN : "");
  // An account that is linked to nobody has alerts all the same.
  const owner = userId ?? (access === "own" ? chatUser(sender.messengerId) : "");
  if (owner === "" && access === "linked") return needsAccount();
  const work = WORKS[name];
  return work === undefined ? { bind: name, argument, owner } : work(ctx, { ...request, userId: owner });
}

/** What is said of a failure, and what still works for somebody who has asked a question. */
function afterFailure(error: unknown, text: string): Outcome {
  const failure = failureOf(error);
  if (failure === null) {
    log.error("bot.unexpected", { message: messageOf(error) });
    return reply(FAILED);
  }
  const name = parseCommand(text)?.name;
  const isModels = failure.code === "upstream" || failure.code === "not_configured";
  if (!isModels || (name !== undefined && name !== "ask")) return reply(reasonOf(failure));
  const rest = "Questions have to wait. A price needs no model: send a coin's name.";
  return { answer: [[SAID.unread], [rest]] };
}

/** The messenger shows it for five seconds. */
const TYPING_MS = 4 * SECOND;
/** Longer than any answer takes. */
const MOST_TYPING = 15;

/** Shows the chat that the bot is working while it is. A failure is ignored, because this is no message. */
async function whileTyping<Result>(sender: Sender, work: Promise<Result>): Promise<Result> {
  const botToken = optional("MESSENGER_BOT_TOKEN");
  const done = work.then(() => true);
  for (let shown = 0; botToken !== undefined && shown < MOST_TYPING; shown++) {
    await showTyping(botToken, sender);
    if (await Promise.race([done, sleep(TYPING_MS).then(() => false)])) break;
  }
  return work;
}

/** Commands that ask providers. Every one can be repeated: it is, after it was cut off. */

/** `wait`: research is under way. `bind`: the command is done by a transaction (`bindings`) after all. */
type Worked = Outcome | "wait" | { bind: string; argument: string; owner: string };
type Work = (ctx: ActionCtx, request: Request) => Promise<Worked>;

/** On-demand results are fresh for this long. */
const FRESH_MS = 15 * MINUTE;
/** The same default as at the endpoint. */
const SLIPPAGE_BPS = 100;

const WORKS: Readonly<Record<string, Work>> = {
  price: (ctx, { argument }) => priceCommand(ctx, argument),

  /** The same words make the same proposal, so an interrupted attempt does no harm. */
  alert: async (ctx, request) => {
    const { userId, argument } = request;
    if (argument === "") return reply(HOW_TO_SAY);
    if (/^(?:set|once|off) +\S{1,40}$/.test(argument)) return { bind: "alert", argument, owner: userId };
    const caller = callerOf(request);
    await charge(ctx, "alert", caller);
    return shown(await answerWords(ctx, caller, { userId }, argument));
  },

  /** The stored result while it is fresh; otherwise it is made, and each further look joins the work under way. */
  research: async (ctx, request) => {
    const caller = callerOf(request);
    const named = focusIn(request.argument);
    if (named === null)
      return reply("Name one token by its symbol, such as ", { command: "research" }, " BTC.");
    const focus = await focusOf(ctx, named === "" ? undefined : named, caller);
    const stored = await ctx.runQuery(internal.research.results.current, { focus });
    if (stored !== null && Date.now() - stored.fetchedAt < FRESH_MS) {
      const { result, fetchedAt: generatedAt } = stored;
      const token = focus === "" ? null : focus;
      const button = (text: string, command: string) => ({ text, command: `${command} ${focus}`.trim() });
      const then = [button("Full text", "report"), button("Sources", "sources")];
      return {
        answer: snapshotCard({ token, generatedAt, result }, siteUrl()),
        buttons: [[...then, button("Follow for 8 h", "follow")]],
      };
    }
    required("LLM_GATEWAY_API_KEY");
    const ticket: Ticket = await ctx.runMutation(internal.research.results.begin, { focus, caller });
    await hasEnded(ctx, ticket);
    return "wait";
  },

  ask: async (ctx, request) =>
    request.argument === ""
      ? reply("Put your question after the command: ", { command: "ask" }, " How is Ethereum doing?")
      : answerTo(ctx, request),

  portfolio: async (ctx, { userId }) => {
    const { address } = await ensureWallet(ctx, { userId, kind: "custody" });
    return { answer: portfolioCard({ address, ...(await portfolioOf(ctx, address)) }) };
  },

  /** A deep link (t.me/<bot>?start=CODE) arrives as this command. */
  start: (ctx, request) =>
    request.argument === "" || !request.sender.alone ? startOutcome(ctx) : connect(ctx, request),
  connect: (ctx, request) => connect(ctx, request),

  swap: (ctx, request) => orderNamed(ctx, request, "swap"),
  send: (ctx, request) => orderNamed(ctx, request, "send"),
};

/** Who asks: the user, or the account alone, which is nobody's. */
function callerOf({ sender, userId }: Request): Caller {
  return userId === "" || isChatUser(userId)
    ? { identity: sha256Hex(`messenger:${sender.messengerId}`), address: null }
    : { userId, address: null, signedIn: true };
}

/** Plain words in a chat with the bot alone: an order, the wish for an alert, or a question. */
async function plainWords(ctx: ActionCtx, request: Request, forwarded: boolean): Promise<Outcome> {
  const { sender, userId, argument: text } = request;
  const order = forwarded || userId === "" ? null : orderIn(text);
  if (order !== null) return orderCard(ctx, request, order);
  const whose = userId === "" ? chatUser(sender.messengerId) : userId;
  const alert = await answerWords(ctx, callerOf(request), { userId: whose }, text);
  return alert.kind === "none" || alert.kind === "unread" ? answerTo(ctx, request) : shown(alert);
}

/** The model's answer to a question. */
async function answerTo(ctx: ActionCtx, request: Request): Promise<Outcome> {
  const { updateId, sender, userId, argument: question } = request;
  const caller = callerOf(request);
  await charge(ctx, "question", caller);
  required("LLM_GATEWAY_API_KEY");
  // The account is the user's own. A group gets nothing that belongs to one person, and its conversation is not kept.
  const own = sender.alone && userId !== "" ? { userId, agentId: DEFAULT_AGENT } : null;
  const args = own === null ? null : { ...own, now: roundedNow() };
  const response = await answerQuestion(ctx, {
    agentId: DEFAULT_AGENT,
    question,
    messages: args === null ? [] : await ctx.runQuery(internal.chat.runs.turns, args),
    caller,
    personal: sender.alone,
  });
  if (own !== null) {
    const reply = pick(response, ["answer", "model", "tokensUsed"]);
    await ctx.runMutation(internal.chat.runs.keep, { ...own, question, reply, key: `update:${updateId}` });
  }
  const answer = wordsAsParagraphs(response.answer, response.sources);
  if (answer.length === 0) throw new AppError("upstream", "The model's answer had no words. Ask again.");
  return { answer };
}

async function shown(answered: Answered): Promise<Outcome> {
  if (answered.kind === "open") return openCard(answered);
  if (answered.kind !== "proposed") return { answer: notice(answered.say) };
  const { alert, present } = answered.proposed;
  const card = proposalCard(alert, present);
  if (alert.condition.kind === "digest") return card;
  const handle = await createFunctionHandle(internal.pages.pictures.alert);
  return { ...card, picture: { handle, subject: alert._id } };
}

/** The hash of a link code, as a job has it. */
const HASH = /^[0-9a-f]{64}$/;

/** Links the account with a code from the web application. */
async function connect(ctx: ActionCtx, request: Request): Promise<Worked> {
  const { sender, argument, userId: linked } = request;
  const { messengerId, messengerUsername } = sender;
  if (argument === "") return linked === "" ? needsAccount() : reply(...ALREADY_LINKED);
  required("WALLET_ENCRYPTION_KEY");
  const codeHash = HASH.test(argument) ? argument : "";
  try {
    const account = { codeHash, messengerId, messengerUsername, by: "account" as const };
    const { userId, walletAddress } = await connectAccount(ctx, account, null);
    return { answer: linkedCard(pseudonymOf(userId), walletAddress) };
  } catch (error) {
    const code = failureOf(error)?.code;
    if (code === "rate_limited") return reply(TOO_MANY_CODES);
    if (code === "conflict" && linked !== "") return reply(...ALREADY_LINKED);
    throw error;
  }
}

async function orderNamed(ctx: ActionCtx, request: Request, name: "swap" | "send"): Promise<Outcome> {
  const order = orderIn(request.argument) ?? orderIn(`${name} ${request.argument}`);
  return order?.kind === name ? orderCard(ctx, request, order) : reply(...USAGE[name]);
}

/** An order, rehearsed: its own card is shown, and a tap carries it out. */
async function orderCard(
  ctx: ActionCtx,
  { updateId, sender, userId }: Request,
  order: Order,
): Promise<Outcome> {
  await charge(ctx, "order", { userId, address: null });
  const wallet = await ctx.runQuery(internal.wallets.wallets.find, { userId, kind: "custody" });
  if (wallet === null) throw new AppError("not_found", NO_WALLET);
  const { walletId, address } = wallet;
  const request = order.kind === "send" ? order : { ...order, slippageBps: SLIPPAGE_BPS };
  const payer = { userId, walletId, address };
  const found = await foundFor(ctx, { payer, request, caller: { address: null }, asked: "chat" });
  const card = await ctx.runMutation(internal.wallets.orders.questions.propose, {
    userId,
    walletId,
    request,
    messengerId: sender.messengerId,
    idempotencyKey: `chat_${updateId}`,
    ...found,
  });
  return card === null ? reply("It was shown already.") : { answer: card.paragraphs, buttons: card.buttons };
}

/**
 * `npx convex run bot/desk:register`: tells the messenger where this deployment's bot gets its messages, and
 * which commands it has. Safe to run twice.
 * @returns The bot's name and the address, never the token or the secret.
 */
export const register = internalAction({
  args: {},
  returns: v.object({ bot: v.string(), webhook: v.string(), commands: v.number() }),
  handler: counted(async () => {
    const token = required("MESSENGER_BOT_TOKEN");
    const bot = await botUsername(token);
    if (bot === null) throw new AppError("not_configured", "The messenger does not know MESSENGER_BOT_TOKEN");
    const webhook = `${siteUrl()}/messenger/webhook`;
    const menu = commands
      .filter(({ traits }) => !traits.includes("hidden"))
      .map(({ name, summary }) => ({ command: name, description: summary }));
    await registerAt(token, { webhook, secret: required("MESSENGER_WEBHOOK_SECRET"), menu });
    return { bot: `@${bot}`, webhook, commands: menu.length };
  }),
});
