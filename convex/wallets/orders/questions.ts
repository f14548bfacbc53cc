import { v } from "convex/values";
import { parse } from "convex-helpers/validators";
import { internal } from "../../_generated/api";
import type { Doc } from "../../_generated/dataModel";
import { internalMutation, type MutationCtx, type QueryCtx } from "../../_generated/server";
import { rulesOf } from "../../accounts/model";
import { allListed } from "../../accounts/keys";
import { change } from "../../lib/changes";
import { AppError, failureOf, usedUp } from "../../lib/errors";
import { rowsByBoth } from "../../lib/records";
import { DAY, HOUR, MINUTE, NEVER } from "../../lib/time";
import { approvalFromNote, approvingLink, enqueueCard, linkedChat } from "../../messenger/model";
import { FREEZE } from "../../messenger/notices";
import { vButton, vSpan } from "../../messenger/tables";
import { walletOf } from "../model";
import { vFound, vPlacing, type Found } from "../tables";
import { endCard, lookAlikeIn, questionButtons, questionCard } from "./cards";
import { weigh } from "./limits";
import { byId, countedFields, earlierOf, isLike, newFields, type NewOrder, type Order } from "./model";

/**
 * Orders that wait for their owner's tap: the state `asked`. They count when they are tapped for, live ten minutes, and
 * end at any change of the owner's rules. And what owners are told of their orders.
 */

const ASKED_MS = 10 * MINUTE;
/** How often somebody may have an owner asked by their id alone: anybody who knows it could ask for ever. */
const MOST_A_DAY = 10;

const REFUSED = "The owner has refused this";
const EXPIRED = "The owner has not answered within 10 minutes";
const VOID = "The owner's rules have changed since it was asked";

/** Why a question has ended by itself at `now`; `null` while its owner may still answer it. */
export async function overAt(ctx: QueryCtx, row: Order, now: number): Promise<string | null> {
  const { question, userId, rules, nextCheckAt } = row;
  if (question === undefined || nextCheckAt <= now) return EXPIRED;
  const { version, isFrozen } = await rulesOf(ctx, userId, now);
  const link = await approvingLink(ctx, userId, now);
  return isFrozen || version !== rules || link?.messengerId !== question.messengerId ? VOID : null;
}

/** An order as it is at `now`, whether its question has been ended yet or not. */
export async function seenAt(ctx: QueryCtx, row: Order, now: number): Promise<Order> {
  const error = row.state === "asked" ? await overAt(ctx, row, now) : null;
  return error === null ? row : { ...row, ...ended(error, now) };
}

function ended(error: string, now: number) {
  return { state: "failed" as const, error, errorCode: "forbidden", endedAt: now, nextCheckAt: NEVER };
}

/** Ends a question that nobody answered, or that is void, without an order. */
export async function expire(ctx: MutationCtx, row: Order, now: number): Promise<void> {
  await ctx.db.patch("orders", row._id, ended((await overAt(ctx, row, now)) ?? EXPIRED, now));
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

type Asking = NewOrder & { account: Doc<"messengerLinks">; found: Found };

/**
 * Stores a question. The order will stand on the owner's tap, whoever asks.
 * @returns The order and the card that asks.
 * @throws AppError `paused`, `rate_limited`, and the refusals of the limits.
 */
async function ask(ctx: MutationCtx, { account, ...order }: Asking) {
  const { userId, request, found, key } = order;
  const now = Date.now();
  const byIdAlone = order.by === "id";
  if (byIdAlone) await refuseTooMany(ctx, userId, now);
  const by: "chat" | "tap" = order.by === "chat" ? "chat" : "tap";
  const { refusal, left, recipient } = await weigh(ctx, { ...order, by, key: undefined, address: null }, now);
  if (refusal !== null) throw refusal;
  const { keyId: _, ...fields } = await newFields(ctx, order);
  const asked = {
    by,
    state: "asked" as const,
    question: { messengerId: account.messengerId, byId: byIdAlone },
    nextCheckAt: now + ASKED_MS,
  };
  const row = await byId(ctx, await ctx.db.insert("orders", { ...fields, ...asked }));
  const lookAlike = request.kind === "send" ? await lookAlikeOf(ctx, userId, request.toAddress) : null;
  const caller = key === undefined ? "Somebody who knows your account id" : `Your key ${key.name}`;
  const asker = by === "chat" ? "You" : caller;
  return {
    row,
    paragraphs: questionCard(row, { found, recipient, lookAlike, left, asker }),
    buttons: questionButtons(row._id),
  };
}

async function lookAlikeOf(ctx: QueryCtx, userId: string, toAddress: string): Promise<string | null> {
  const listed = await allListed(ctx, userId);
  const known = listed.map(({ address }) => ({ address, what: "which is on your list" }));
  for (const kind of ["basic", "custody"] as const) {
    const wallet = await walletOf(ctx, userId, kind);
    if (wallet !== null) known.push({ address: wallet.address, what: `your own ${kind} wallet` });
  }
  return lookAlikeIn(known, toAddress);
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
  const refused = recent.find(({ error, endedAt = 0 }) => error === REFUSED && endedAt > now - HOUR);
  if (refused?.endedAt !== undefined)
    throw quota("the limit of questions to an owner who has refused", refused.endedAt + HOUR);
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
    await ctx.db.patch(
      "orders",
      row._id,
      said === "yes" ? await approved(ctx, row, now) : ended(REFUSED, now),
    );
  return seenAt(ctx, await byId(ctx, row._id), now);
}

/** What a tap makes of an order: it begins, unless the limits of this moment end it. */
async function approved(ctx: MutationCtx, { _id: orderId, ...row }: Order, now: number) {
  const { userId, request, by, value } = row;
  if (request.kind !== "send" && request.kind !== "swap")
    throw new AppError("internal", "Nobody is asked about this");
  try {
    const counted = await countedFields(ctx, { userId, request, by, value, address: null }, now);
    // Whoever asked may be gone.
    await ctx.scheduler.runAfter(0, internal.wallets.actions.carry, { orderId });
    return counted;
  } catch (error) {
    // The limits are checked before anything is written.
    const failure = failureOf(error);
    if (failure === null) throw error;
    return { ...ended(failure.message, now), errorCode: failure.code };
  }
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
  handler: async (ctx, { messengerId, ...given }) => {
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
    const { paragraphs, buttons } = await ask(ctx, { ...order, account });
    return { paragraphs: parse(v.array(v.array(vSpan)), paragraphs), buttons };
  },
});

/** Tells the linked account of an owner what an order has come to; whoever ordered it may never look again. */
export const tellEnd = change({ orderId: v.id("orders") }, async (ctx, { orderId }) => {
  const row = await byId(ctx, orderId);
  const { userId, keyId, question } = row;
  const chatId = await linkedChat(ctx, userId);
  if (chatId === null) return;
  const key = keyId === undefined ? null : await ctx.db.get("keys", keyId);
  // What was tapped for in the chat surprises nobody there.
  const buttons = question === undefined ? FREEZE : undefined;
  const paragraphs = endCard(row, key?.name);
  await enqueueCard(ctx, { userId, chatId, bot: "default", kind: "order", paragraphs, buttons });
});
