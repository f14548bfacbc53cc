import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { AppError, getErrorData } from "../lib/errors";
import { toChecksum } from "../lib/money/base";
import { trimTrailing } from "../lib/text/strings";
import { explainRefusal } from "../messenger/format";
import { charge } from "../platform/limits/charges";
import { readCommand } from "../social/commands";
import { GAS_WAY, NO_WALLET } from "../wallets/model";
import { STANDING_ORDER_EXAMPLES } from "../alerts/terms";
import { buildAddButton } from "../wallets/orders/cards";
import { NEEDS_LISTING } from "../wallets/orders/limits";
import { estimateForApproval, resolveOrder } from "../wallets/orders/estimates";
import type { UserRequest } from "../wallets/tables";
import { findRecipientProblem, findToken, SHARES, SYMBOLS } from "../wallets/tokens";
import { ORDER_EXAMPLES } from "./cards";
import { reply, type CommandOutcome, type CommandRequest } from "./outcomes";

/** Orders in people's words. The answer is the order's card, or an explanation of how to word it. For actions. */

const COINS = SYMBOLS.map((symbol) => (symbol === "CBBTC" ? "BTC" : symbol)).join(", ");

/** The verb that begins an order, with the filler words after it. */
const VERB =
  /^(?:please\s+)?(?:swap|exchange|convert|trade|sell|buy|purchase|dca|send|transfer|pay)\s+(?:(?:me|my|some|about|the)\s+)*/i;
/** Words that make an order wait for a price or a time. */
export const WAITING_WORDS =
  /\b(?:below|under|above|over|at|when|if|once|reaches|hits|drops|falls|rises|every|daily|weekly|monthly|tomorrow)\b/i;
/** Words that may follow the token of an order. */
const BEHIND_TOKEN = /^(?:$|(?:to|for|with|into|worth|using|now|please)\b)/i;

/** The order in a text, by the grammar of posts; its amount is not resolved. `null` for a text without an order. */
export function parseOrder(text: string): UserRequest | null {
  // A comma is the decimal mark of some languages, and the separator of thousands of others.
  if (!VERB.test(text) || text.includes(",")) return null;
  const reading = readCommand(text);
  if (reading.kind !== "command") return null;
  const { fromToken, toToken, recipient, size } = reading.command;
  const sized = { amount: "0", size };
  // The same slippage as the endpoint's default.
  if (toToken !== null) return { kind: "swap", fromToken, toToken, ...sized, slippageBps: 100 };
  const toAddress = recipient === null ? null : toChecksum(recipient);
  if (recipient === null || toAddress === null || findRecipientProblem(recipient) !== null) return null;
  return { kind: "send", token: fromToken, toAddress, ...sized };
}

/** Whether a text without an order begins like one: with a verb, and an amount or a token behind it. */
export function looksLikeOrder(text: string): boolean {
  const verb = VERB.exec(text)?.[0] ?? "";
  if (verb === "" || text.includes("?")) return false;
  const [word = "", ...others] = text.slice(verb.length).trim().split(/\s+/);
  const isAmount = /^[$€£]?\.?\d/.test(word) || SHARES.has(word.toLowerCase());
  const isToken =
    findToken(trimTrailing(word.replace(/^\$/, ""), ".,!")) !== null && BEHIND_TOKEN.test(others.join(" "));
  return isAmount || isToken || /^0x[0-9a-f]{10}/i.test(word);
}

/** Explains how to word a text that looks like an order. */
export function explainOrderSyntax(text: string): CommandOutcome {
  const [amount = "", whole = "", part = ""] = /(?<!\d)(\d+),(\d+)/.exec(text) ?? [];
  const thousands = part.length === 3 && !/^0/.test(whole) ? ` or ${whole}${part}` : "";
  if (amount !== "")
    return reply(`I cannot tell what ${amount} is: write ${whole}.${part}${thousands}. `, ...ORDER_EXAMPLES);
  const [, bare = "", token = ""] = /\s(\d+(?:\.\d+)?) of (\S+)/.exec(text) ?? [];
  if (bare !== "")
    return reply(`${bare} of what? Write $${bare} of ${token}, or name the token. `, ...ORDER_EXAMPLES);
  if (WAITING_WORDS.test(text)) return reply(`I do not understand that order. ${STANDING_ORDER_EXAMPLES}`);
  return reply(`I do not understand that order: I trade ${COINS}. `, ...ORDER_EXAMPLES);
}

/** The answer to /swap and /send: the order's card, or how to word the order. */
export async function answerOrderCommand(
  ctx: ActionCtx,
  request: CommandRequest,
  words: string,
): Promise<CommandOutcome> {
  const order = parseOrder(words);
  return order === null ? explainOrderSyntax(words) : proposeOrder(ctx, request, order);
}

/** Asks the owner again about an order that has ended without a signature, at today's prices. */
export async function proposeAgain(ctx: ActionCtx, request: CommandRequest): Promise<CommandOutcome> {
  const { argument: which, sender, now } = request;
  const query = { which, messengerId: sender.messengerId, now };
  const earlier = await ctx.runQuery(internal.wallets.orders.questions.findEarlierQuestion, query);
  return earlier === null
    ? reply("That order cannot be asked about again: say it anew.")
    : proposeOrder(ctx, request, earlier.request, earlier.by);
}

/**
 * Proposes an order after an estimate. The order's card asks the owner, whose tap executes it.
 * @param by `tap` for somebody else's order that the owner was asked about before.
 */
export async function proposeOrder(
  ctx: ActionCtx,
  request: CommandRequest,
  order: UserRequest,
  by: "chat" | "tap" = "chat",
): Promise<CommandOutcome> {
  try {
    return await estimateAndAsk(ctx, request, order, by);
  } catch (error) {
    const failure = getErrorData(error);
    const gasUsdc = failure?.body?.["gasUsdc"];
    if (failure !== null && typeof gasUsdc === "string")
      return offerGas(ctx, request, order, failure.message.replace(GAS_WAY, ""), gasUsdc);
    if (order.kind !== "send" || failure?.message.startsWith(`${NEEDS_LISTING}:`) !== true) throw error;
    return { ...reply(explainRefusal(failure)), buttons: [[buildAddButton(order.toAddress)]] };
  }
}

/**
 * The answer to `/gas USDC ORDER`, both optional: an order that buys ether for fees. ORDER waits for that ether, and its owner
 * can be asked about it again afterwards.
 */
export function proposeGas(ctx: ActionCtx, request: CommandRequest): Promise<CommandOutcome> {
  const [, usdc, next] = /^([1-5])(?: usdc)?(?: (\S{1,40}))?$/i.exec(request.argument) ?? [];
  if (usdc === undefined && request.argument !== "")
    return Promise.resolve(reply("Say 1 to 5 USDC, such as ", { command: "gas" }, " 2."));
  const size = usdc === undefined ? "enough" : `${usdc}000000`;
  const order = { kind: "gas" as const, amount: "0", ether: "0", cost: "0", size };
  return proposeOrder(ctx, request, next === undefined ? order : { ...order, next });
}

/** The refusal of an order that lacks ether for its fees, with a button that buys some for USDC. */
async function offerGas(
  ctx: ActionCtx,
  { updateId, sender, userId }: CommandRequest,
  order: UserRequest,
  error: string,
  usdc: string,
): Promise<CommandOutcome> {
  const wallet = await requireCustodyWallet(ctx, userId);
  const { request } = await resolveOrder(ctx, wallet, order);
  const id: string = await ctx.runMutation(internal.wallets.orders.questions.storeRefused, {
    ...{ userId, error, messengerId: sender.messengerId, etherPrice: "0" },
    walletId: wallet.walletId,
    request,
    idempotencyKey: `chat_${updateId}`,
  });
  const whole = usdc.slice(0, -6);
  return {
    ...reply(`${error}.`),
    buttons: [[{ text: `⛽ Get ETH for ${whole} USDC`, command: `gas ${whole} ${id}` }]],
  };
}

async function requireCustodyWallet(ctx: ActionCtx, userId: string) {
  const query = { userId, kind: "custody" as const };
  const wallet = await ctx.runQuery(internal.wallets.custody.wallets.findWalletRow, query);
  if (wallet === null) throw new AppError("not_found", NO_WALLET);
  return wallet;
}

async function estimateAndAsk(
  ctx: ActionCtx,
  { updateId, sender, userId }: CommandRequest,
  order: UserRequest,
  by: "chat" | "tap",
): Promise<CommandOutcome> {
  await charge(ctx, "order", { userId, address: null });
  const wallet = await requireCustodyWallet(ctx, userId);
  const { unitWarning: _, ...estimated } = await estimateForApproval(ctx, { userId, ...wallet }, order);
  await ctx.runMutation(internal.wallets.orders.questions.proposeOrder, {
    ...{ userId, walletId: wallet.walletId, by, messengerId: sender.messengerId },
    idempotencyKey: `chat_${updateId}`,
    ...estimated,
  });
  // The order's own card is the answer.
  return { answer: [] };
}
