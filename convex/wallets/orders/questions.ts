import { v } from "convex/values";
import { parse } from "convex-helpers/validators";
import { internal } from "../../_generated/api";
import type { Doc } from "../../_generated/dataModel";
import { internalMutation, type MutationCtx, type QueryCtx } from "../../_generated/server";
import { rulesOf } from "../../accounts/model";
import { allListed } from "../../accounts/recipients";
import { change } from "../../lib/changes";
import { AppError, failureOf } from "../../lib/errors";
import { usedUp } from "../../lib/limits/charges";
import { rowsByBoth } from "../../lib/records/rows";
import { DAY, HOUR, MINUTE, NEVER } from "../../lib/time";
import { approvalFromNote, approvingLink, enqueueCard, linkedChat } from "../../messenger/model";
import { FREEZE } from "../../messenger/notices";
import { vButton, vSpan } from "../../messenger/tables";
import { byWalletId, openTrade, PREPARED_FOR_MS, walletOf } from "../model";
import { vFound, vPlacing, type Found, type Question } from "../tables";
import { endCard, lookAlikeIn, questionButtons, questionCard } from "./cards";
import { cents, weigh, type Ordering } from "./limits";
import {
  byId,
  countedFields,
  earlierOf,
  faultOf,
  isLike,
  newFields,
  type NewOrder,
  type Order,
} from "./model";

/**
 * Orders that wait for their owner's tap: the state `asked`. They count when they are tapped for, live ten minutes, and
 * end at any change of the owner's rules. And what owners are told of their orders.
 */

const ASKED_MS = 10 * MINUTE;
/** How often somebody may have an owner asked by their id alone: anybody who knows it could ask for ever. */
const MOST_A_DAY = 10;

const ENDED = {
  refused: "The owner has refused this",
  expired: "The owner has not answered within 10 minutes: ask again with another idempotency key",
  void: "The owner's rules have changed since: ask again with another idempotency key",
} as const;

type End = keyof typeof ENDED;

/** How a question has ended by itself at `now`; `null` while its owner may still answer it. */
export async function overAt(ctx: QueryCtx, row: Order, now: number): Promise<End | null> {
  const { question, userId, rules, nextCheckAt } = row;
  if (question === undefined || nextCheckAt <= now) return "expired";
  const { version, isFrozen } = await rulesOf(ctx, userId, now);
  const link = await approvingLink(ctx, userId, now);
  return isFrozen || version !== rules || link?.messengerId !== question.messengerId ? "void" : null;
}

/** An order as it is at `now`, whether its question has been ended yet or not. */
export async function seenAt(ctx: QueryCtx, row: Order, now: number): Promise<Order> {
  const how = row.state === "asked" ? await overAt(ctx, row, now) : null;
  return how === null ? row : { ...row, ...endOf(row, how, now) };
}

function endOf({ question }: Order, how: End, now: number) {
  return {
    state: "failed" as const,
    ...(question === undefined ? {} : { question: { ...question, end: how } }),
    error: ENDED[how],
    errorCode: "forbidden",
    endedAt: now,
    nextCheckAt: NEVER,
  };
}

/** Ends a question without an order. */
export async function end(ctx: MutationCtx, row: Order, how: End, now: number): Promise<void> {
  await ctx.db.patch("orders", row._id, endOf(row, how, now));
}

/** The open question with the same terms, which a request without a key joins. */
export async function openLike(
  ctx: QueryCtx,
  { userId, walletId, request }: Pick<NewOrder, "userId" | "walletId" | "request">,
  now: number,
): Promise<Order | null> {
  const asked = rowsByBoth(ctx.db.query("orders"), "userId", userId, "state", "asked");
  for (const row of await asked.order("desc").take(MOST_A_DAY))
    if (isLike(row, walletId, request) && (await overAt(ctx, row, now)) === null) return row;
  return null;
}

type Asking = NewOrder & {
  account: Doc<"messengerLinks">;
  found: Found;
  /** Who asks, in words; `null`: the owner, in their chat. */
  asker: string | null;
};

/**
 * Stores a question. The order will stand on the owner's tap, whoever asks.
 * @returns The order and the card that asks.
 * @throws AppError `paused`, `rate_limited`, and the refusals of the limits.
 */
async function ask(ctx: MutationCtx, asking: Asking) {
  const { account, found, asker, key: _, ...order } = asking;
  const now = Date.now();
  const byIdAlone = order.by === "id";
  if (byIdAlone) await refuseTooMany(ctx, order.userId, now);
  const by = order.by === "chat" ? "chat" : "tap";
  const { refusal, left, recipient } = await weigh(ctx, { ...order, by, address: null }, now);
  if (refusal !== null) throw refusal;
  const expiresAt = now + ASKED_MS;
  const question: Question = { messengerId: account.messengerId, byId: byIdAlone };
  const { keyId: __, ...fields } = { keyId: null, ...(await newFields(ctx, asking)) };
  const id = await ctx.db.insert("orders", {
    ...fields,
    by,
    state: "asked",
    question,
    nextCheckAt: expiresAt,
  });
  const row = await byId(ctx, id);
  const payer = await byWalletId(ctx, row.walletId);
  const lookAlike = await lookAlikeOf(ctx, row);
  const facts = { found, expiresAt, asker, payer, recipient, lookAlike, leftUsd: cents(left) };
  return { row, paragraphs: questionCard(row, facts), buttons: questionButtons(id) };
}

async function lookAlikeOf(ctx: QueryCtx, { userId, request }: Order): Promise<string | null> {
  if (request.kind !== "send") return null;
  const listed = await allListed(ctx, userId);
  const known = listed.map(({ address }) => ({ address, what: "which is on your list" }));
  for (const kind of ["basic", "custody"] as const) {
    const wallet = await walletOf(ctx, userId, kind);
    if (wallet !== null) known.push({ address: wallet.address, what: `your own ${kind} wallet` });
  }
  return lookAlikeIn(known, request.toAddress);
}

/** Sends the question to the owner's chat. */
export async function askInChat(ctx: MutationCtx, asking: Asking): Promise<Order> {
  const { row, paragraphs, buttons } = await ask(ctx, asking);
  const to = { userId: row.userId, chatId: asking.account.messengerId, bot: "default" as const };
  await enqueueCard(ctx, { ...to, kind: "approval", paragraphs, buttons });
  return row;
}

/** @throws AppError `rate_limited` if somebody has the owner asked too often by the id alone. */
async function refuseTooMany(ctx: QueryCtx, userId: string, now: number): Promise<void> {
  const recent = await ctx.db
    .query("orders")
    .withIndex("by_userId_and_asked", (q) => q.eq("userId", userId).eq("question.byId", true))
    .order("desc")
    .take(MOST_A_DAY);
  const quota = (name: string, againAt: number) => usedUp(name, Math.max(1, againAt - now));
  const refused = recent.filter(({ question }) => question?.end === "refused");
  const refusedAt = Math.max(...refused.map(({ endedAt = 0 }) => endedAt), 0);
  if (refusedAt > now - HOUR)
    throw quota("the limit of questions to an owner who has refused", refusedAt + HOUR);
  const first = recent.at(MOST_A_DAY - 1);
  if (first !== undefined && first._creationTime > now - DAY)
    throw quota("the daily limit of questions to the owner", first._creationTime + DAY);
  for (const row of recent)
    if (row.state === "asked" && (await overAt(ctx, row, now)) === null)
      throw quota("the limit of open questions to the owner", row.nextCheckAt);
}

/**
 * The owner's answer. It counts once, from the account that is linked now, under the rules that were valid when it was
 * asked; an approved order begins in the same transaction.
 * @param which The order's id, as the button holds it.
 * @returns The order afterwards; `null` if this account was not asked.
 */
export async function answer(
  ctx: MutationCtx,
  which: string,
  said: "yes" | "no",
  messengerId: string,
): Promise<Order | null> {
  const id = ctx.db.normalizeId("orders", which);
  const row = id === null ? null : await ctx.db.get("orders", id);
  if (row?.question?.messengerId !== messengerId) return null;
  const now = Date.now();
  if (row.state === "asked" && (await overAt(ctx, row, now)) === null)
    await (said === "yes" ? approve(ctx, row, now) : end(ctx, row, "refused", now));
  return seenAt(ctx, await byId(ctx, row._id), now);
}

async function approve(ctx: MutationCtx, row: Order, now: number): Promise<void> {
  try {
    await ctx.db.patch("orders", row._id, {
      ...(await countedFields(ctx, orderingOf(row), now)),
      state: "prepared",
      nextCheckAt: now + PREPARED_FOR_MS,
    });
  } catch (error) {
    // The limits are checked before anything is written.
    const failure = failureOf(error);
    if (failure === null) throw error;
    const { message, code: errorCode } = failure;
    const ended = { state: "failed", error: message, errorCode, endedAt: now, nextCheckAt: NEVER } as const;
    return ctx.db.patch("orders", row._id, ended);
  }
  await openTrade(ctx, row, undefined);
  // Whoever asked may be gone.
  await ctx.scheduler.runAfter(0, internal.wallets.actions.carry, { orderId: row._id });
}

function orderingOf({ userId, request, by, value }: Order): Ordering {
  if (request.kind !== "send" && request.kind !== "swap")
    throw new AppError("internal", "Nobody is asked about this");
  return { userId, request, by, value, address: null };
}

/**
 * Stores an order that was begun in the owner's chat, once per key: it waits for the tap like orders of others.
 * @returns The card to show; `null` if it was stored before.
 */
export const propose = internalMutation({
  args: { ...vPlacing, messengerId: v.string(), found: vFound },
  returns: v.union(
    v.object({ paragraphs: v.array(v.array(vSpan)), buttons: v.array(v.array(vButton)) }),
    v.null(),
  ),
  handler: async (ctx, { messengerId, found, ...given }) => {
    const { userId } = given;
    const order = { ...given, by: "chat" as const, address: null };
    if ((await earlierOf(ctx, order)) !== null) return null;
    const now = Date.now();
    const account = await approvingLink(ctx, userId, now);
    if (account?.messengerId !== messengerId) {
      const later = await approvalFromNote(ctx, userId, now);
      const what = later === "" ? "orders nothing for that user" : "cannot order yet";
      throw new AppError("forbidden", `This account ${what}${later}`);
    }
    const { paragraphs, buttons } = await ask(ctx, { ...order, account, found, asker: null });
    return { paragraphs: parse(v.array(v.array(vSpan)), paragraphs), buttons };
  },
});

/** Tells the linked account of an owner what an order has come to; whoever ordered it may never look again. */
export const ended = change({ orderId: v.id("orders") }, async (ctx, { orderId }) => {
  const row = await byId(ctx, orderId);
  const { userId, keyId, question } = row;
  const chatId = await linkedChat(ctx, userId);
  if (chatId === null) return;
  const key = keyId === undefined ? null : await ctx.db.get("keys", keyId);
  const paragraphs = endCard(row, faultOf(row), key?.name);
  // What was tapped for in the chat surprises nobody there.
  const buttons = question === undefined ? FREEZE : undefined;
  await enqueueCard(ctx, { userId, chatId, bot: "default", kind: "order", paragraphs, buttons });
});
