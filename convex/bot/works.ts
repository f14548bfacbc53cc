import { createFunctionHandle } from "convex/server";
import { pick } from "convex-helpers";
import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { openCard, proposalCard } from "../alerts/cards";
import { answerWords, type Answered } from "../alerts/desk";
import { HOW_TO_SAY } from "../alerts/grammar";
import { DEFAULT_AGENT } from "../chat/agents";
import { answer as answerQuestion } from "../chat/replies";
import { required, siteUrl } from "../lib/env";
import { AppError, failureOf } from "../lib/errors";
import type { Caller } from "../lib/limits/callers";
import { charge } from "../lib/limits/charges";
import { hasEnded } from "../lib/cache";
import { sha256Hex } from "../lib/security/digests";
import { pseudonymOf } from "../lib/security/pseudonyms";
import type { Ticket } from "../lib/tables";
import { MINUTE, roundedNow } from "../lib/time";
import { focusOf } from "../market/listing";
import { connectAccount } from "../messenger/linkingEndpoints";
import { chatUser, isChatUser } from "../messenger/model";
import { wordsAsParagraphs } from "../messenger/words";
import { snapshotCard } from "../research/cards";
import { portfolioOf } from "../wallets/holdings";
import { ensureWallet, NO_WALLET } from "../wallets/model";
import { foundFor } from "../wallets/orders/execution";
import {
  ALREADY_LINKED,
  linkedCard,
  needsAccount,
  notice,
  portfolioCard,
  TOO_MANY_CODES,
  USAGE,
} from "./cards";
import { hashIn, orderIn, type Order } from "./grammar";
import { reply, type Outcome, type Request } from "./commands";
import { priceCommand, startOutcome } from "./prices";

/** Commands that ask providers. Every one can be repeated: it is, after it was cut off. */

/** `wait`: research is under way. `bind`: the command is done by a transaction (`bindings`) after all. */
export type Worked = Outcome | "wait" | { bind: string; argument: string; owner: string };
type Work = (ctx: ActionCtx, request: Request) => Promise<Worked>;

/** On-demand results are fresh for this long. */
const FRESH_MS = 15 * MINUTE;
/** The same default as at the endpoint. */
const SLIPPAGE_BPS = 100;

export const WORKS: Readonly<Record<string, Work>> = {
  price: (ctx, { argument }) => priceCommand(ctx, argument),

  /** The same words make the same proposal, so an interrupted attempt does no harm. */
  alert: async (ctx, request) => {
    const { userId, argument } = request;
    if (argument === "") return reply(HOW_TO_SAY);
    if (/^(?:set|once|off) +\S{1,40}$/.test(argument)) return { bind: "alert", argument, owner: userId };
    const caller = callerOf(request);
    await charge(ctx, "alert", caller);
    return shown(await answerWords(ctx, { caller, userId, text: argument }));
  },

  /** The stored result while it is fresh; otherwise it is made, and each further look joins the work under way. */
  research: async (ctx, request) => {
    const { argument, now } = request;
    const caller = callerOf(request);
    const named = await ctx.runQuery(internal.bot.reads.focus, { argument, now });
    if (named === null)
      return reply("Name one token by its symbol, such as ", { command: "research" }, " BTC.");
    const focus = await focusOf(ctx, named === "" ? undefined : named, caller);
    const stored = await ctx.runQuery(internal.research.results.current, { focus });
    if (stored !== null && Date.now() - stored.fetchedAt < FRESH_MS) {
      const { result, fetchedAt } = stored;
      const token = focus === "" ? null : focus;
      const of = (command: string) => (focus === "" ? command : `${command} ${focus}`);
      return {
        answer: snapshotCard({ token, generatedAt: fetchedAt, result }, siteUrl()),
        buttons: [
          [
            { text: "Full text", command: of("report") },
            { text: "Sources", command: of("sources") },
            { text: "Follow for 8 h", command: of("follow") },
          ],
        ],
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
export async function plainWords(ctx: ActionCtx, request: Request, forwarded: boolean): Promise<Outcome> {
  const { sender, userId, argument: text } = request;
  const order = forwarded || userId === "" ? null : orderIn(text);
  if (order !== null) return orderCard(ctx, request, order);
  const whose = userId === "" ? chatUser(sender.messengerId) : userId;
  const alert = await answerWords(ctx, { caller: callerOf(request), userId: whose, text });
  return alert.kind === "none" || alert.kind === "unread" ? answerTo(ctx, request) : shown(alert);
}

/** The model's answer to a question. */
export async function answerTo(ctx: ActionCtx, request: Request): Promise<Outcome> {
  const { updateId, sender, userId, argument: question } = request;
  const caller = callerOf(request);
  await charge(ctx, "chat", caller);
  required("LLM_GATEWAY_API_KEY");
  // The account is the user's own. A group gets nothing that belongs to one person, and its conversation is not kept.
  const own = sender.alone && userId !== "" ? { userId, agentId: DEFAULT_AGENT } : null;
  const args = own === null ? null : { ...own, now: roundedNow() };
  const response = await answerQuestion(ctx, {
    agentId: DEFAULT_AGENT,
    question,
    messages: args === null ? [] : await ctx.runQuery(internal.chat.memory.turns, args),
    caller,
    personal: sender.alone,
    proven: own !== null,
  });
  if (own !== null) {
    const reply = pick(response, ["answer", "model", "tokensUsed"]);
    await ctx.runMutation(internal.chat.memory.keep, { ...own, question, reply, key: `update:${updateId}` });
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
  return { ...card, picture: { handle, subject: alert.alertId } };
}

/** Links the account with a code from the web application. */
async function connect(ctx: ActionCtx, request: Request): Promise<Worked> {
  const { sender, argument } = request;
  const { messengerId, messengerUsername } = sender;
  const { userId: linked, usedCode } = await ctx.runQuery(internal.bot.reads.account, { messengerId });
  const { hash: codeHash, then } = hashIn(argument);
  // The same code once more is the same link: whoever was cut off behind it is told of it.
  if (linked !== null && (codeHash === "" || usedCode !== codeHash)) return reply(...ALREADY_LINKED);
  if (argument === "") return needsAccount("start");
  required("WALLET_ENCRYPTION_KEY");
  try {
    const account = { codeHash, messengerId, messengerUsername, by: "account" as const };
    const { userId, walletAddress } = await connectAccount(ctx, account, null);
    return {
      answer: linkedCard({ account: pseudonymOf(userId), walletAddress }),
      buttons: then === "" ? [] : [[{ text: `Go on: /${then}`, command: then }]],
    };
  } catch (error) {
    if (failureOf(error)?.code === "rate_limited") return reply(TOO_MANY_CODES);
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
  await charge(ctx, "transfer", { userId, address: null });
  const wallet = await ctx.runQuery(internal.wallets.wallets.find, { userId, kind: "custody" });
  if (wallet === null) throw new AppError("not_found", NO_WALLET);
  const { walletId, address } = wallet;
  const request = order.kind === "send" ? order : { ...order, slippageBps: SLIPPAGE_BPS };
  const payer = { userId, walletId, address };
  const found = await foundFor(ctx, { payer, request, caller: { address: null }, asked: "chat" });
  const card = await ctx.runMutation(internal.wallets.orders.chatOrders.propose, {
    userId,
    walletId,
    request,
    messengerId: sender.messengerId,
    idempotencyKey: `chat_${updateId}`,
    ...found,
  });
  return card === null ? reply("It was shown already.") : { answer: card.paragraphs, buttons: card.buttons };
}
