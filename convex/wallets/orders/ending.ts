import type { FunctionHandle } from "convex/server";
import { internal } from "../../_generated/api";
import type { Id } from "../../_generated/dataModel";
import type { MutationCtx } from "../../_generated/server";
import { defined } from "../../lib/objects";
import { emitToOwner } from "../../messenger/webhooks/events";
import { isUserRequest } from "../model";
import type { SignedTry } from "../tables";
import { isEnded, requireOrder, type Order } from "./model";

/** The end of an order, with its consequences. Plain functions, part of their caller's transaction. */

export type Outcome = Pick<Order, "state"> & {
  [Field in "error" | "errorCode" | "bought"]?: Order[Field] | undefined;
};

export function buildFailure(error: string): Outcome {
  return { state: "failed", error, errorCode: "upstream" };
}

/** `undefined` removes a field. */
type Changes = { nextCheckAt: number; approvalTxHash?: string; tries?: SignedTry[] } & {
  [Field in "idempotencyKey" | "txHash" | "usedSince" | "countedAt"]?: Order[Field] | undefined;
};

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
    await ctx.scheduler.runAfter(0, internal.wallets.orders.cards.tellEnd, { orderId });
}
