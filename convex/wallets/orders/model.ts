import type { FunctionHandle } from "convex/server";
import { v, type Infer } from "convex/values";
import { internal } from "../../_generated/api";
import type { Doc, Id } from "../../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../../_generated/server";
import { readMode, requireUnfrozenRules } from "../../identity/model";
import { defined } from "../../lib/objects";
import { AppError, KEY_USED } from "../../lib/errors";
import { emitToOwner } from "../../messenger/webhooks/events";
import { queryByBoth } from "../../platform/records";
import { MINUTE, NEVER } from "../../lib/time";
import { requireWallet, BLANK, getPauseError, isUserRequest, requireMode, PREPARED_FOR_MS } from "../model";
import { vUserRequest, type OrderRequest } from "../tables";
import { getAddressKey, toCredentialKey, checkLimits, type Ordering } from "./limits";

/** Order rows, and the steps that open and end them. Plain functions, part of their caller's transaction. */

export type Order = Doc<"orders">;

/** When an outcome is checked once more: a reorg may have removed the deciding block. */
export const LOOK_BACK_MS = MINUTE;

export async function requireOrder(ctx: QueryCtx, id: Id<"orders">): Promise<Order> {
  const row = await ctx.db.get("orders", id);
  if (row === null) throw new AppError("internal", "The order is gone");
  return row;
}

/** The order that a button or a command names, or `null`. */
export async function findNamedOrder(ctx: QueryCtx, which: string): Promise<Order | null> {
  const id = ctx.db.normalizeId("orders", which);
  return id === null ? null : ctx.db.get("orders", id);
}

export function isEnded({ state }: Pick<Order, "state">): boolean {
  return state === "confirmed" || state === "failed";
}

/**
 * The social mention that ordered a trade, its action, and the mutation to call with its id when the trade has ended.
 */
type Mentioned = { mentionId: Id<"mentions">; action: "buy" | "sell" | "swap" | "send"; onSettled: string };

/** A rehearsal's result for the owner's card. A shown order is bound to the first two fields. */
export const vEstimate = v.object({
  /** The lowest acceptable bought amount of a swap. Digits. */
  minBuyAmount: v.optional(v.string()),
  /** The highest fee of a single transaction, and of all of them together; in wei. */
  mostFee: v.string(),
  feesInAll: v.string(),
  /** The fee of all of them at the present price, in wei. */
  usualFee: v.string(),
  /** For a swap: the quoted amount, in digits, and its worth in micro-USD, absent without the prices. */
  buyAmount: v.optional(v.string()),
  boughtValue: v.optional(v.string()),
});
export type Estimate = Infer<typeof vEstimate>;

/** A user's order as actions pass it to mutations. */
export const vPlacing = {
  userId: v.string(),
  walletId: v.string(),
  request: vUserRequest,
  idempotencyKey: v.optional(v.string()),
  /** Value of the sent or sold amount, absent without a live price, and of one ether; in micro-USD. */
  value: v.optional(v.string()),
  etherPrice: v.string(),
};

/** `vPlacing` with its credential. */
export type NewOrder = Ordering & {
  walletId: string;
  etherPrice: string;
  idempotencyKey?: string | undefined;
  /** The bounds of the estimate that its owner was shown. */
  estimate?: Partial<Pick<Estimate, "mostFee" | "minBuyAmount">> | undefined;
  mentioned?: Mentioned;
  standingId?: Id<"alerts">;
};

/**
 * Opens an order in one step: its idempotency key, its share of the limits and its row.
 * @returns The order; for a key that was used with the same terms, the earlier one.
 * @throws AppError `conflict` if the key was used for other terms; `paused`; `invalid_request`, `forbidden`, `upstream`
 * as `checkLimits`.
 */
export async function openOrder(ctx: MutationCtx, order: NewOrder): Promise<Order> {
  const earlier = await findEarlierOrder(ctx, order);
  if (earlier !== null) return earlier;
  const id = await ctx.db.insert("orders", {
    ...(await buildOrderFields(ctx, order)),
    ...(await buildCountedFields(ctx, order, Date.now())),
  });
  return requireOrder(ctx, id);
}

export type Keyed = Pick<NewOrder, "userId" | "walletId" | "request" | "by" | "key" | "idempotencyKey">;

/** The order of an earlier request with the same idempotency key. @throws AppError `conflict` if its terms differ. */
export async function findEarlierOrder(ctx: QueryCtx, order: Keyed): Promise<Order | null> {
  const { userId } = order;
  const key = toScopedKey(order);
  if (key === undefined) return null;
  const rows = queryByBoth(ctx.db.query("orders"), "userId", userId, "idempotencyKey", key);
  const row = await rows.unique();
  if (row !== null && !hasTerms(row, order)) throw new AppError("conflict", KEY_USED);
  return row;
}

/** The resolved size of a request. */
const RESOLVED = { amount: "", ether: "", cost: "", next: "" };

/** Whether an order has this wallet and these terms. Of sizes the words count, not the amounts that they came to. */
export function hasTerms(row: Order, { walletId, request }: Pick<Keyed, "walletId" | "request">): boolean {
  const terms = (one: OrderRequest) => {
    const isSized = "size" in one && one.size !== undefined;
    return JSON.stringify(Object.entries(isSized ? { ...one, ...RESOLVED } : one).sort());
  };
  return row.walletId === walletId && terms(row.request) === terms(request);
}

/** Idempotency keys are scoped to the account, the credential and the endpoint. */
function toScopedKey({ request, by, key, idempotencyKey }: Keyed): string | undefined {
  if (idempotencyKey === undefined) return undefined;
  return `${request.kind} ${toCredentialKey({ by, keyId: key?._id })} ${idempotencyKey}`;
}

/** The idempotency key as the caller sent it. */
export function getCallersKey({ idempotencyKey = "" }: Pick<Order, "idempotencyKey">): string {
  return idempotencyKey.replace(/^\S+ \S+ /, "");
}

/** The fields of a user's new order, opened or put to its owner. @throws AppError `paused`. */
export async function buildOrderFields(ctx: MutationCtx, order: NewOrder) {
  const { userId, walletId, request, by, key, value, etherPrice, estimate, mentioned, standingId } = order;
  const paused = getPauseError();
  if (paused !== null) throw paused;
  const wallet = await requireWallet(ctx, walletId);
  await requireMode(ctx, wallet, request);
  const { version: rules, paper } = await requireUnfrozenRules(ctx, userId);
  const idempotencyKey = toScopedKey(order);
  const source: "x" | "telegram" | "web" = by === "post" ? "x" : by === "chat" ? "telegram" : "web";
  return {
    ...BLANK,
    walletId,
    userId,
    address: wallet.address,
    request,
    by,
    rules,
    etherPrice,
    action: request.kind,
    source,
    ...mentioned,
    ...defined({
      keyId: key?._id,
      idempotencyKey,
      mostFee: estimate?.mostFee,
      minBuyAmount: estimate?.minBuyAmount,
      value,
      paper,
      standingId,
    }),
  };
}

/** Counts an order, in the mutation that opens it or stores its approval. @throws AppError as `checkLimits`. */
export async function buildCountedFields(ctx: MutationCtx, order: Ordering, now: number) {
  const { refusal, countedAmount, countsAgainstChatCap } = await checkLimits(ctx, order, now);
  if (refusal !== null) throw refusal;
  const countedFor = getAddressKey(order, await readMode(ctx, order.userId));
  return {
    state: "prepared" as const,
    nextCheckAt: now + PREPARED_FOR_MS,
    countedAmount: countedAmount.toString(),
    countedAt: now,
    ...{ countsAgainstChatCap, ...defined({ countedFor }) },
  };
}

/** Records an unreadable mention as a trade of unknown action, which is never executed. */
export async function recordUnreadable(
  ctx: MutationCtx,
  trade: { userId: string; mentionId: Id<"mentions">; error: string },
): Promise<Id<"orders">> {
  const unknown = { request: { kind: "unknown" }, action: "unknown", source: "x", by: "post" } as const;
  const ended = { state: "failed", endedAt: Date.now(), nextCheckAt: NEVER } as const;
  return ctx.db.insert("orders", { ...BLANK, walletId: "", address: "", ...trade, ...unknown, ...ended });
}

export type Outcome = Pick<Order, "state"> & {
  [Field in "error" | "errorCode" | "bought"]?: Order[Field] | undefined;
};

export function buildFailure(error: string): Outcome {
  return { state: "failed", error, errorCode: "upstream" };
}

/** `undefined` removes a field. */
type Changes = { nextCheckAt: number } & {
  [Field in "idempotencyKey" | "txHash" | "nonceConflictSince" | "countedAt"]?: Order[Field] | undefined;
} & Partial<Pick<Order, "approvalTxHash" | "tries" | "terms" | "paperFee" | "feeCounted">>;

/** Stores an order's end with its consequences: its mention, its user's webhooks, the message to its owner. */
export async function finalizeOrder(
  ctx: MutationCtx,
  row: Order,
  outcome: Outcome,
  further: Changes,
): Promise<void> {
  const { state, error, errorCode, bought } = outcome;
  const { _id: orderId, userId, request, question, by, mentionId, onSettled, paper, standingId } = row;
  await ctx.db.patch("orders", orderId, { state, error, errorCode, bought, endedAt: Date.now(), ...further });
  if (!isUserRequest(request)) return;
  const { txHash, approvalTxHash } = await requireOrder(ctx, orderId);
  const event = { status: state, error: error ?? null, success: error === undefined };
  const transaction = { transactionId: orderId, ...request, txHash, ...event, bought, ...defined({ paper }) };
  await emitToOwner(ctx, userId, "transaction.ended", transaction);
  if (mentionId !== undefined && onSettled !== undefined) {
    const handle = onSettled as FunctionHandle<"mutation", { mentionId: Id<"mentions"> }>;
    await ctx.scheduler.runAfter(0, handle, { mentionId });
  }
  const hasMoved = (txHash ?? approvalTxHash) !== undefined;
  // A standing order tells of the first end of its orders.
  if (standingId !== undefined && !isEnded(row)) return;
  if (question !== undefined || (hasMoved && by !== "free"))
    await ctx.scheduler.runAfter(0, internal.wallets.orders.questions.tellEnd, { orderId });
}
