import { v } from "convex/values";
import { internal } from "../../_generated/api";
import type { Doc } from "../../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../../_generated/server";
import { getRules } from "../../identity/model";
import { listRecipients } from "../../identity/model";
import { defineMutation } from "../../platform/changes";
import { AppError, getErrorData, limitExceeded } from "../../lib/errors";
import { toUsd } from "../../lib/money/amounts";
import { formatUsd } from "../../lib/text/numbers";
import { DAY, formatDateTime, HOUR, MINUTE, NEVER } from "../../lib/time";
import { findApprovingLink, enqueueCard, findLinkedChat } from "../../messenger/model";
import type { Button, Paragraph } from "../../messenger/format";
import { FREEZE } from "../../messenger/notices";
import { EXPLORER, formatFee, findWallet, formatTokenAmount } from "../model";
import { vEstimate, vPlacing, type Estimate } from "../tables";
import { checkLimits, type Recipient } from "./limits";
import {
  requireOrder,
  buildCountedFields,
  findEarlierOrder,
  buildOrderFields,
  type NewOrder,
  type Order,
} from "./model";

/**
 * Orders that wait for their owner's tap (state `asked`). They count from the tap, live ten minutes, and end at any
 * change of the owner's rules. Also the cards about orders: built from decoded terms, they contain no text of the
 * caller's.
 */
const ASKED_MS = 10 * MINUTE;

/** Ceiling of questions per day for callers with the id alone: anybody who knows the id could ask without end. */
const MOST_A_DAY = 10;

const REFUSED = "The owner has refused this";
const EXPIRED = "The owner has not answered within 10 minutes";
const VOID = "The owner's rules have changed since it was asked";

/** Why a question has ended by itself at `now`; `null` while the owner may still answer it. */
async function findEndReason(ctx: QueryCtx, row: Order, now: number): Promise<string | null> {
  const { question, userId, rules, nextCheckAt } = row;
  if (question === undefined || nextCheckAt <= now) return EXPIRED;
  const { version, isFrozen } = await getRules(ctx, userId, now);
  const link = await findApprovingLink(ctx, userId, now);
  return isFrozen || version !== rules || link?.messengerId !== question.messengerId ? VOID : null;
}

/** An order's state at `now`, even if its question's end is not stored yet. */
export async function getStateAt(ctx: QueryCtx, row: Order, now: number): Promise<Order> {
  const error = row.state === "asked" ? await findEndReason(ctx, row, now) : null;
  return error === null ? row : { ...row, ...buildEndFields(error, now) };
}

function buildEndFields(error: string, now: number) {
  return { state: "failed" as const, error, errorCode: "forbidden", endedAt: now, nextCheckAt: NEVER };
}

/** Ends an unanswered or void question without an order. */
export async function expire(ctx: MutationCtx, row: Order, now: number): Promise<void> {
  await ctx.db.patch("orders", row._id, buildEndFields((await findEndReason(ctx, row, now)) ?? EXPIRED, now));
}

type Asking = NewOrder & { account: Doc<"messengerLinks">; found: Estimate };

/**
 * Stores a question, and sends its card to the owner's chat. The order's credential will be the owner's tap, whoever
 * the caller is.
 * @throws AppError `paused`, `rate_limited`, and the refusals of the limits.
 */
export async function askInChat(ctx: MutationCtx, { account, ...order }: Asking): Promise<Order> {
  const { userId, request, found } = order;
  const { messengerId } = account;
  const now = Date.now();
  const byIdAlone = order.by === "id";
  if (byIdAlone) await requireQuestionAllowance(ctx, userId, now);
  const by: "chat" | "tap" = order.by === "chat" ? "chat" : "tap";
  const { refusal, left, recipient } = await checkLimits(ctx, { ...order, by, address: null }, now);
  if (refusal !== null) throw refusal;
  const questionFields = {
    by,
    state: "asked" as const,
    question: { messengerId, byId: byIdAlone },
    nextCheckAt: now + ASKED_MS,
  };
  const row = await requireOrder(
    ctx,
    await ctx.db.insert("orders", { ...(await buildOrderFields(ctx, order)), ...questionFields }),
  );
  const lookAlike = request.kind === "send" ? await findLookAlike(ctx, userId, request.toAddress) : null;
  const asker = by === "chat" ? "You" : "Somebody who knows your account id";
  const paragraphs = buildQuestionCard(row, { found, recipient, lookAlike, left, asker });
  const buttons = buildQuestionButtons(row._id);
  const to = { userId, chatId: messengerId, bot: "default" as const };
  await enqueueCard(ctx, { ...to, kind: "approval", paragraphs, buttons });
  return row;
}

/** A warning about the known address that a recipient imitates (address poisoning); `null` if there is none. */
async function findLookAlike(ctx: QueryCtx, userId: string, other: string): Promise<string | null> {
  const listed = await listRecipients(ctx, userId);
  const knownAddresses = listed.map(({ address }) => ({ address, what: "which is on your list" }));
  for (const kind of ["basic", "custody"] as const) {
    const wallet = await findWallet(ctx, userId, kind);
    if (wallet !== null) knownAddresses.push({ address: wallet.address, what: `your own ${kind} wallet` });
  }
  const alike = knownAddresses.find(
    ({ address }) => address !== other && sliceEnds(address) === sliceEnds(other),
  );
  return alike === undefined ? null : `${alike.address}, ${alike.what}`;
}

/** The characters of an address that people compare. */
function sliceEnds(address: string): string {
  return (address.slice(2, 6) + address.slice(-4)).toLowerCase();
}

/** @throws AppError `rate_limited` if callers with the id alone have asked too often. */
async function requireQuestionAllowance(ctx: QueryCtx, userId: string, now: number): Promise<void> {
  const recent = await ctx.db
    .query("orders")
    .withIndex("by_userId_and_asked", (q) => q.eq("userId", userId).eq("question.byId", true))
    .order("desc")
    .take(MOST_A_DAY);
  const quota = (name: string, againAt: number) => limitExceeded(name, Math.max(1, againAt - now));
  const refused = recent.find(({ error, endedAt = 0 }) => error === REFUSED && endedAt > now - HOUR);
  if (refused?.endedAt !== undefined)
    throw quota("The owner has refused such a question within the last hour", refused.endedAt + HOUR);
  const first = recent.at(MOST_A_DAY - 1);
  if (first !== undefined && first._creationTime > now - DAY)
    throw quota("The daily limit of questions to the owner is reached", first._creationTime + DAY);
  for (const row of recent)
    if (row.state === "asked" && (await findEndReason(ctx, row, now)) === null)
      throw quota("An earlier question to the owner is still open", row.nextCheckAt);
}

/**
 * Applies the owner's answer: once, from the currently linked account, and under the rules that were valid when the
 * question was asked. An approved order begins in the same transaction.
 * @param which The order's id, as the button holds it.
 * @returns The order afterwards; `null` if the question was not this account's.
 */
export async function answerQuestion(
  ctx: MutationCtx,
  which: string,
  said: "yes" | "no",
  messengerId: string,
): Promise<Order | null> {
  const id = ctx.db.normalizeId("orders", which);
  const row = id === null ? null : await ctx.db.get("orders", id);
  if (row?.question?.messengerId !== messengerId) return null;
  const now = Date.now();
  if (row.state === "asked" && (await findEndReason(ctx, row, now)) === null)
    await ctx.db.patch(
      "orders",
      row._id,
      said === "yes" ? await buildApprovedFields(ctx, row, now) : buildEndFields(REFUSED, now),
    );
  return getStateAt(ctx, await requireOrder(ctx, row._id), now);
}

/** The fields of an approved order: it begins, unless the current limits end it. */
async function buildApprovedFields(ctx: MutationCtx, { _id: orderId, ...row }: Order, now: number) {
  const { userId, request, by, value } = row;
  if (request.kind !== "send" && request.kind !== "swap")
    throw new AppError("internal", "Nobody is asked about this");
  try {
    const limitFields = await buildCountedFields(ctx, { userId, request, by, value, address: null }, now);
    // The caller may be gone, so the execution is scheduled.
    await ctx.scheduler.runAfter(0, internal.wallets.actions.executeApproved, { orderId });
    return limitFields;
  } catch (error) {
    // The limits are checked before any write.
    const failure = getErrorData(error);
    if (failure === null) throw error;
    return { ...buildEndFields(failure.message, now), errorCode: failure.code };
  }
}

/** Puts an order from the owner's own chat to them, once per key: it waits for the tap like other callers' orders. */
export const proposeOrder = defineMutation(
  { ...vPlacing, messengerId: v.string(), found: vEstimate },
  async (ctx, { messengerId, ...given }) => {
    const order = { ...given, by: "chat" as const, address: null };
    if ((await findEarlierOrder(ctx, order)) !== null) return;
    const account = await findApprovingLink(ctx, given.userId, Date.now());
    if (account?.messengerId !== messengerId)
      throw new AppError("forbidden", "This account orders nothing for that user, or not for two hours yet");
    await askInChat(ctx, { ...order, account });
  },
);

/** Sends the owner's linked account the outcome of an order: its caller may never look again. */
export const tellEnd = defineMutation({ orderId: v.id("orders") }, async (ctx, { orderId }) => {
  const row = await requireOrder(ctx, orderId);
  const { userId, keyId, question } = row;
  const chatId = await findLinkedChat(ctx, userId);
  if (chatId === null) return;
  const key = keyId === undefined ? null : await ctx.db.get("keys", keyId);
  // An order approved by tap is no surprise to the chat, so it needs no freeze button.
  const buttons = question === undefined ? FREEZE : undefined;
  const paragraphs = buildOutcomeCard(row, key?.name);
  await enqueueCard(ctx, { userId, chatId, bot: "default", kind: "order", paragraphs, buttons });
});

/** @param facts Known only when the question is asked; `recipient` is `null` for a swap, `left` in micro-USD. */
function buildQuestionCard(
  row: Order,
  facts: {
    found: Estimate;
    recipient: Recipient | null;
    lookAlike: string | null;
    left: bigint;
    asker: string;
  },
): Paragraph[] {
  const { found, recipient, lookAlike, left, asker } = facts;
  const { request, value, nextCheckAt } = row;
  const ends = [
    `From your wallet ${row.address}`,
    ...(request.kind === "send" ? [`To ${request.toAddress}`] : []),
    ...(recipient === null ? [] : [describeRecipient(recipient, lookAlike)]),
  ];
  const lines = [
    value === undefined
      ? "⚠️ There is no live price for it: no limit counts what it moves"
      : `Worth ${formatUsd(toUsd(BigInt(value)))} USD`,
    ...(found.costBps === null
      ? []
      : [`By the price feeds it costs at most ${(Math.max(0, found.costBps) / 100).toFixed(2)} %`]),
    `Network fees: at most ${formatFee(BigInt(found.feesInAll), BigInt(row.etherPrice))}`,
    `Left for today: ${formatUsd(toUsd(left))} USD`,
  ];
  return [
    [{ bold: "🔐 Your approval is asked for" }, `\n${describeRequest(row)}`],
    [ends.join("\n")],
    [lines.join("\n")],
    [`${asker} asked for this. Nothing moves without your tap, until ${formatDateTime(nextCheckAt)}.`],
  ];
}

function buildQuestionButtons(id: string): Button[][] {
  return [
    [
      { text: "✅ Approve", command: `approve ${id}` },
      { text: "✖ Refuse", command: `refuse ${id}` },
    ],
    [{ text: "🧊 Freeze", command: "freeze" }],
  ];
}

/** An order in one line, without its recipient. */
function describeRequest({ request, minBuyAmount }: Pick<Order, "request" | "minBuyAmount">): string {
  if (request.kind === "send") return `Send ${formatTokenAmount(request.amount, request.token)}`;
  if (request.kind !== "swap") return request.kind;
  const { amount, fromToken, toToken } = request;
  const bound =
    minBuyAmount === undefined ? "" : `, for at least ${formatTokenAmount(minBuyAmount, toToken)}`;
  return `Swap ${formatTokenAmount(amount, fromToken)} to ${toToken}${bound}`;
}

/** The card's line about a recipient: nothing in it can be influenced by outsiders. */
function describeRecipient(recipient: Recipient, lookAlike: string | null): string {
  if (recipient.kind === "own") return `Your own ${recipient.wallet} wallet`;
  if (recipient.kind === "listed") return `On your list since ${formatDateTime(recipient.since)}`;
  if (lookAlike !== null) return `⚠️ New, and made to look like ${lookAlike}`;
  return recipient.countsFrom === null
    ? "⚠️ New: it is not on your list"
    : `⚠️ New: on your list it counts from ${formatDateTime(recipient.countsFrom)}`;
}

/** The card that replaces an answered question. */
export function buildDecidedCard(row: Order): Paragraph[] {
  const { state, txHash, error } = row;
  if (state !== "failed" || txHash !== undefined) return [[{ bold: "✅ Approved" }], [describeRequest(row)]];
  const why = error === undefined ? [] : [[error]];
  return [[{ bold: "✖ Nothing was moved" }], [describeRequest(row)], ...why];
}

/** The card of an order's outcome. @param key The name of the ordering API key. */
function buildOutcomeCard(row: Order, key: string | undefined): Paragraph[] {
  const { request, bought, txHash, address, question, error } = row;
  const arrived =
    request.kind === "swap" && bought !== undefined
      ? [`Arrived: ${formatTokenAmount(bought, request.toToken)}`]
      : [];
  const lines = [
    describeRequest({ request }),
    `From ${address}`,
    ...(request.kind === "send" ? [`To ${request.toAddress}`] : []),
    ...(error === undefined ? arrived : [error]),
    ...(question === undefined
      ? [`Ordered ${describeOrigin(row, key)}. If that was not you, freeze your account.`]
      : []),
  ];
  const short = `Transaction ${txHash?.slice(0, 8)}…${txHash?.slice(-4)}`;
  return [
    [{ bold: error === undefined ? "✅ Done" : "⚠️ Not done" }, ...lines.map((line) => `\n${line}`)],
    ...(txHash === undefined ? [] : [[{ words: short, href: EXPLORER + txHash }]]),
  ];
}

/** The origin of an order without approval, in words for its owner. */
function describeOrigin({ by, keyId }: Order, key: string | undefined): string {
  if (by === "post") return "by a post of yours";
  return keyId === undefined ? "with your token" : `with your key ${key ?? "that is gone"}`;
}
