import { v } from "convex/values";
import { internal } from "../../_generated/api";
import type { Doc } from "../../_generated/dataModel";
import { internalMutation, internalQuery, type MutationCtx, type QueryCtx } from "../../_generated/server";
import { getRules, listRecipients, readMode } from "../../identity/model";
import { defineMutation } from "../../platform/changes";
import { AppError, getErrorData, limitExceeded } from "../../lib/errors";
import { literals } from "../../lib/literals";
import { DAY, HOUR, MINUTE, NEVER } from "../../lib/time";
import type { Button } from "../../messenger/format";
import { findApprovingLink, findLinkedChat, enqueueCard } from "../../messenger/model";
import { FREEZE } from "../../messenger/notices";
import { findWallet, isUserRequest } from "../model";
import { vUserRequest } from "../tables";
import { buildEndCard, buildQuestionCard, describeOrder, EXPIRED, REFUSED, VOID } from "./cards";
import { checkLimits } from "./limits";
import {
  requireOrder,
  buildCountedFields,
  findEarlierOrder,
  findNamedOrder,
  buildOrderFields,
  type NewOrder,
  type Order,
  vEstimate,
  vPlacing,
  type Estimate,
} from "./model";

/**
 * Orders that wait for their owner's tap (state `asked`): they count from the tap, live ten minutes, and end at any
 * change of the owner's rules. And the news of an order's end in the owner's chat.
 */
const ASKED_MS = 10 * MINUTE;

/** Ceiling of questions per day for callers with the id alone: anybody who knows the id could ask without end. */
const MOST_A_DAY = 10;

/** Why a question has ended by itself at `now`; `null` while the owner may still answer it. */
async function findEndReason(ctx: QueryCtx, row: Order, now: number): Promise<string | null> {
  const { question, userId, nextCheckAt } = row;
  if (question === undefined || nextCheckAt <= now) return EXPIRED;
  const rules = await getRules(ctx, userId, now);
  const link = await findApprovingLink(ctx, userId, now);
  const isSame = rules.version === row.rules && rules.paper === row.paper;
  return rules.isFrozen || !isSame || link?.messengerId !== question.messengerId ? VOID : null;
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

type Asking = NewOrder & { account: Doc<"messengerLinks">; estimate: Estimate };

/**
 * Stores a question, and sends its card to the owner's chat. The order's credential will be the owner's tap, whoever
 * the caller is.
 * @throws AppError `paused`, `rate_limited`, and the refusals of the limits.
 */
export async function askInChat(ctx: MutationCtx, { account, ...order }: Asking): Promise<Order> {
  const { userId, request, estimate } = order;
  const { messengerId } = account;
  const now = Date.now();
  const byIdAlone = order.by === "id";
  if (byIdAlone) await requireQuestionAllowance(ctx, userId, now);
  const by: "chat" | "tap" = order.by === "chat" ? "chat" : "tap";
  const { refusal, ...checked } = await checkLimits(ctx, { ...order, by, address: null }, now);
  if (refusal !== null) throw refusal;
  const orderId = await ctx.db.insert("orders", {
    ...(await buildOrderFields(ctx, order)),
    ...{ by, state: "asked", question: { messengerId, byId: byIdAlone }, nextCheckAt: now + ASKED_MS },
  });
  const row = await requireOrder(ctx, orderId);
  const lookAlike = request.kind === "send" ? await findLookAlike(ctx, userId, request.toAddress) : null;
  const card = buildQuestionCard(row, { ...checked, estimate, lookAlike });
  await enqueueCard(ctx, { userId, chatId: messengerId, bot: "default", kind: "approval", ...card });
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
  const paper = await readMode(ctx, userId);
  const recent = await ctx.db
    .query("orders")
    .withIndex("by_userId_and_asked", (q) =>
      q.eq("userId", userId).eq("paper", paper).eq("question.byId", true),
    )
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
  const row = await findNamedOrder(ctx, which);
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
  if (!isUserRequest(request)) throw new AppError("internal", "This order has no question to its owner");
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

/**
 * The credential of an order that its owner is asked about: the chat, for the owner's own; a tap, for another caller's.
 */
const vChatCredential = literals("chat", "tap");

/** An order that this account was asked about and that has not been signed, to be asked about again; otherwise `null`. */
export const findEarlierQuestion = internalQuery({
  args: { which: v.string(), messengerId: v.string(), now: v.number() },
  returns: v.union(v.object({ request: vUserRequest, by: vChatCredential }), v.null()),
  handler: async (ctx, { which, messengerId, now }) => {
    const row = await findNamedOrder(ctx, which);
    if (row?.question?.messengerId !== messengerId || row.tries.length > 0) return null;
    const { request, by } = row;
    if ((await getStateAt(ctx, row, now)).state !== "failed") return null;
    return isUserRequest(request) ? { request, by: by === "chat" ? by : ("tap" as const) } : null;
  },
});

/** Puts an order from the owner's own chat to them, once per key: it waits for the tap like other callers' orders. */
export const proposeOrder = defineMutation(
  { ...vPlacing, messengerId: v.string(), by: vChatCredential, estimate: vEstimate },
  async (ctx, { messengerId, ...given }) => {
    const order = { ...given, address: null };
    if ((await findEarlierOrder(ctx, order)) !== null) return;
    const account = await findApprovingLink(ctx, given.userId, Date.now());
    if (account?.messengerId !== messengerId)
      throw new AppError(
        "forbidden",
        "This chat may not order for that user: link it in private first, and a newly linked chat waits two hours",
      );
    await askInChat(ctx, { ...order, account });
  },
);

/** Keeps an order of the owner's own chat that was refused, so that it can be asked about again. @returns Its id. */
export const storeRefused = internalMutation({
  args: { ...vPlacing, messengerId: v.string(), error: v.string() },
  returns: v.id("orders"),
  handler: async (ctx, { messengerId, error, ...given }) => {
    const order = { ...given, by: "chat" as const, address: null };
    const earlier = await findEarlierOrder(ctx, order);
    if (earlier !== null) return earlier._id;
    return ctx.db.insert("orders", {
      ...(await buildOrderFields(ctx, order)),
      ...buildEndFields(error, Date.now()),
      by: order.by,
      question: { messengerId, byId: false },
    });
  },
});

/** Sends the owner's linked account the outcome of an order: its caller may never look again. */
export const tellEnd = defineMutation({ orderId: v.id("orders") }, async (ctx, { orderId }) => {
  const row = await requireOrder(ctx, orderId);
  const { userId, keyId, question } = row;
  const chatId = await findLinkedChat(ctx, userId);
  if (chatId === null) return;
  const key = keyId === undefined ? null : await ctx.db.get("keys", keyId);
  // An order approved by tap is no surprise to the chat, so it needs no freeze button.
  const buttons = question === undefined ? FREEZE : await buildNextButtons(ctx, row);
  const paragraphs = buildEndCard(row, key?.name);
  await enqueueCard(ctx, { userId, chatId, bot: "default", kind: "order", paragraphs, buttons });
});

/** A button for the order that has waited for this one. */
async function buildNextButtons(ctx: QueryCtx, { request, state }: Order): Promise<Button[][] | undefined> {
  const next = request.kind === "gas" && state === "confirmed" ? (request.next ?? "") : "";
  const waiting = await findNamedOrder(ctx, next);
  if (waiting === null) return undefined;
  return [[{ text: `▶ ${describeOrder(waiting.request)}`.slice(0, 60), command: `again ${waiting._id}` }]];
}
