import { v } from "convex/values";
import { parse } from "convex-helpers/validators";
import { internal } from "../../_generated/api";
import type { Doc } from "../../_generated/dataModel";
import { internalMutation, type MutationCtx, type QueryCtx } from "../../_generated/server";
import { freeze, rulesOf } from "../../accounts/model";
import { change } from "../../lib/changes";
import { AppError, failureOf } from "../../lib/errors";
import { usedUp } from "../../lib/limits/charges";
import { rowsByBoth } from "../../lib/records/rows";
import { DAY, HOUR, MINUTE, NEVER } from "../../lib/time";
import { approvalFromNote, approvingLink, enqueueCard, linkedChat } from "../../messenger/model";
import { FREEZE } from "../../messenger/notices";
import { vButton, vSpan } from "../../messenger/tables";
import { byWalletId, PREPARED_FOR_MS } from "../model";
import { vFound, vPlacing, type Found, type Question } from "../tables";
import {
  endCard,
  questionButtons,
  questionCard,
  recipientOf,
  requestWords,
  wayOf,
  type Standing,
} from "./cards";
import { cents, isUsers, leastLeft, limitsOf, refusalOf, type Ordering } from "./limits";
import {
  begin,
  byId,
  countedFields,
  earlierOf,
  faultOf,
  newFields,
  sameRequest,
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

export const ENDED = {
  refused: "The owner has refused this",
  expired: "The owner has not answered within 10 minutes: ask again with another idempotency key",
  void: "The owner's rules have changed since: ask again with another idempotency key",
} as const;

/** The state of an order's question at `now`: without an answer it ends by itself. */
export async function standingOf(ctx: QueryCtx, row: Order, now: number): Promise<Standing> {
  const { question } = row;
  if (question === undefined) return row.state === "failed" ? "failed" : "approved";
  if (question.end === "approved")
    return row.state === "failed" && row.txHash === undefined ? "failed" : "approved";
  if (question.end !== undefined) return question.end;
  if (question.expiresAt <= now) return "expired";
  const { version, isFrozen } = await rulesOf(ctx, row.userId, now);
  if (isFrozen || version !== row.rules) return "void";
  const link = await approvingLink(ctx, row.userId, now);
  return link?._id === question.linkId ? "awaiting_approval" : "void";
}

/** The open question with the same terms, which a request without a key joins. */
export async function openLike(
  ctx: QueryCtx,
  { userId, walletId, request }: Pick<NewOrder, "userId" | "walletId" | "request">,
  now: number,
): Promise<Order | null> {
  for (const row of await askedOf(ctx, userId)) {
    const isSame = row.walletId === walletId && sameRequest(row.request, request);
    if (isSame && (await standingOf(ctx, row, now)) === "awaiting_approval") return row;
  }
  return null;
}

async function askedOf(ctx: QueryCtx, userId: string): Promise<Order[]> {
  return rowsByBoth(ctx.db.query("orders"), "userId", userId, "state", "asked")
    .order("desc")
    .take(MOST_A_DAY);
}

export type Asking = NewOrder & {
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
  const { userId, walletId, account, found, asker } = asking;
  const now = Date.now();
  const byIdAlone = asking.by === "id";
  if (byIdAlone) await refuseTooMany(ctx, userId, now);
  const tapped = onTap(asking);
  const limits = await limitsOf(ctx, tapped, now);
  const refusal = await refusalOf(ctx, tapped, limits, now);
  if (refusal !== null) throw refusal;
  const { keyId: _, ...fields } = { keyId: undefined, ...(await newFields(ctx, asking)) };
  const expiresAt = now + ASKED_MS;
  const { _id: linkId, messengerId } = account;
  const question: Question = { linkId, messengerId, byId: byIdAlone, found, expiresAt };
  const id = await ctx.db.insert("orders", {
    ...fields,
    by: tapped.by,
    state: "asked",
    question,
    nextCheckAt: expiresAt,
  });
  const row = await byId(ctx, id);
  const others = (await askedOf(ctx, userId)).filter(({ _id }) => _id !== id);
  const facts = {
    found,
    asker,
    expiresAt,
    payer: await byWalletId(ctx, walletId),
    recipient: await recipientOf(ctx, row, others, now),
    leftUsd: cents(leastLeft(limits)),
  };
  return { row, paragraphs: questionCard(row, facts), buttons: questionButtons(id) };
}

/** The order as it stands once its owner has tapped for it. */
function onTap({ key: _, by, ...asking }: NewOrder): Ordering & { by: "tap" | "chat" } {
  return { ...asking, address: null, by: by === "chat" ? "chat" : "tap" };
}

/** Sends the question to the owner's chat. */
export async function askInChat(ctx: MutationCtx, asking: Asking): Promise<Order> {
  const { row, paragraphs, buttons } = await ask(ctx, asking);
  const { messengerId: chatId } = asking.account;
  await enqueueCard(ctx, {
    userId: row.userId,
    chatId,
    bot: "default",
    kind: "approval",
    paragraphs,
    buttons,
  });
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
  const refusedAt = Math.max(
    ...recent.map(({ question }) => (question?.end === "refused" ? (question.decidedAt ?? 0) : 0)),
    0,
  );
  if (refusedAt > now - HOUR)
    throw quota("the limit of questions to an owner who has refused", refusedAt + HOUR);
  const first = recent.at(MOST_A_DAY - 1);
  if (first !== undefined && first.createdAt > now - DAY)
    throw quota("the daily limit of questions to the owner", first.createdAt + DAY);
  for (const row of recent) {
    if ((await standingOf(ctx, row, now)) === "awaiting_approval")
      throw quota("the limit of open questions to the owner", row.question?.expiresAt ?? now);
  }
}

export type Answer = "yes" | "no" | "freeze";

/**
 * The owner's answer. It counts once, from the account that is linked now, under the rules that were valid when it was
 * asked; an approved order begins in the same transaction.
 * @param which The order's id, as the button holds it.
 * @returns `null` if this account was not asked.
 */
export async function answer(
  ctx: MutationCtx,
  which: string,
  said: Answer,
  messengerId: string,
): Promise<{ order: Order; standing: Standing } | null> {
  const id = ctx.db.normalizeId("orders", which);
  const row = id === null ? null : await ctx.db.get("orders", id);
  if (row?.question?.messengerId !== messengerId) return null;
  const now = Date.now();
  const standing = await standingOf(ctx, row, now);
  if (said === "freeze") await freeze(ctx, row.userId, "chat");
  else if (standing === "awaiting_approval" && said === "yes") await approve(ctx, row, now);
  else if (standing === "awaiting_approval") await end(ctx, row, "refused", now);
  const order = await byId(ctx, row._id);
  return { order, standing: await standingOf(ctx, order, now) };
}

async function approve(ctx: MutationCtx, row: Order, now: number): Promise<void> {
  const { question } = row;
  if (question === undefined) return;
  const approved: Question = { ...question, end: "approved", decidedAt: now };
  try {
    await ctx.db.patch("orders", row._id, {
      ...(await countedFields(ctx, orderingOf(row), now)),
      state: "prepared",
      question: approved,
      preparedAt: now,
      nextCheckAt: now + PREPARED_FOR_MS,
    });
  } catch (error) {
    // The limits are checked before anything is written.
    const failure = failureOf(error);
    if (failure === null) throw error;
    return ctx.db.patch("orders", row._id, {
      state: "failed",
      question: approved,
      error: failure.message,
      errorCode: failure.code,
      endedAt: now,
      nextCheckAt: NEVER,
    });
  }
  await begin(ctx, await byId(ctx, row._id));
  // Whoever asked may be gone.
  await ctx.scheduler.runAfter(0, internal.wallets.actions.carry, { orderId: row._id });
}

function orderingOf({ userId, request, by, value }: Order): Ordering {
  if (!isUsers(request)) throw new AppError("internal", "Nobody is asked about this");
  return { userId, request, by, value, address: null };
}

/** Ends a question without an order. */
export async function end(
  ctx: MutationCtx,
  row: Order,
  how: "refused" | "expired" | "void",
  now: number,
): Promise<void> {
  if (row.state !== "asked" || row.question === undefined) return;
  await ctx.db.patch("orders", row._id, {
    state: "failed",
    question: { ...row.question, end: how, decidedAt: now },
    error: ENDED[how],
    errorCode: "forbidden",
    endedAt: now,
    nextCheckAt: NEVER,
  });
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
    const order = { ...given, by: "chat" as const, source: "telegram" as const, address: null };
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

/** Notifies the linked account of an order when it is opened, with a button that stops what is not signed yet. */
export const begun = change({ orderId: v.id("orders") }, async (ctx, { orderId }) => {
  const row = await byId(ctx, orderId);
  const { walletId, request, keyId } = row;
  const payer = await byWalletId(ctx, walletId);
  const key = keyId === undefined ? null : await ctx.db.get("keys", keyId);
  const lines = [
    `From your ${payer.kind} wallet ${payer.address}`,
    ...(request.kind === "send" ? [`To ${request.toAddress}`] : []),
    `Ordered ${wayOf(row, key?.name)}. If that was not you, freeze your account.`,
  ];
  await tell(ctx, row, {
    paragraphs: [[{ bold: requestWords(request, undefined) }], ...lines.map((line) => [line])],
    buttons: FREEZE,
  });
});

/** Notifies the account of the outcome of an order that was tapped for there: the caller may never look again. */
export const ended = change({ orderId: v.id("orders") }, async (ctx, { orderId }) => {
  const row = await byId(ctx, orderId);
  await tell(ctx, row, { paragraphs: endCard(row, faultOf(row)) });
});

async function tell(
  ctx: MutationCtx,
  { userId }: Order,
  card: Pick<Parameters<typeof enqueueCard>[1], "paragraphs" | "buttons">,
): Promise<void> {
  const chatId = await linkedChat(ctx, userId);
  if (chatId !== null) await enqueueCard(ctx, { ...card, userId, chatId, bot: "default", kind: "order" });
}
