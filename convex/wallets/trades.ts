import type { FunctionHandle } from "convex/server";
import { getOneFrom } from "convex-helpers/server/relationships";
import type { Doc, Id } from "../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../_generated/server";

/** Swaps and sends as trades: one row each, beside its order. */

/** The social mention that ordered a trade, and the word it used. */
export type Mentioned = {
  mentionId: Id<"mentions">;
  action: Exclude<Doc<"trades">["action"], "unknown">;
  /** Handle of a mutation to call with the mention's id when the trade has ended. */
  onSettled: string;
};

export async function openTrade(
  ctx: MutationCtx,
  { _id: orderId, userId, source, request }: Doc<"orders">,
  mentioned: Mentioned | undefined,
): Promise<void> {
  if (request.kind !== "send" && request.kind !== "swap") return;
  const moved =
    request.kind === "send"
      ? { fromToken: request.token, toAddress: request.toAddress }
      : { fromToken: request.fromToken, toToken: request.toToken };
  const { action = request.kind, ...asked } = mentioned ?? {};
  await ctx.db.insert("trades", {
    userId,
    source,
    orderId,
    action,
    ...moved,
    ...asked,
    amount: request.amount,
    status: "pending",
    createdAt: Date.now(),
  });
}

/** Records a mention that nobody could read as a trade: a row with the action `unknown`, never executed. */
export async function recordUnreadable(
  ctx: MutationCtx,
  { now, ...trade }: { userId: string; mentionId: Id<"mentions">; error: string; now: number },
): Promise<Id<"trades">> {
  const unknown = { action: "unknown", source: "x", status: "failed" } as const;
  return ctx.db.insert("trades", { ...trade, ...unknown, createdAt: now });
}

export async function tradeOf(ctx: QueryCtx, orderId: Id<"orders">): Promise<Doc<"trades"> | null> {
  return getOneFrom(ctx.db, "trades", "by_orderId", orderId);
}

/** Ends an order's trade. @param error What is wrong with its result; `null` if nothing is. */
export async function settleTrade(
  ctx: MutationCtx,
  { _id: orderId, txHash }: Doc<"orders">,
  error: string | null,
): Promise<void> {
  const trade = await tradeOf(ctx, orderId);
  if (trade === null) return;
  await ctx.db.patch("trades", trade._id, {
    status: error === null ? "confirmed" : "failed",
    ...(txHash === undefined ? {} : { txHash }),
    error: error ?? undefined,
  });
  const { mentionId, onSettled } = trade;
  if (mentionId === undefined || onSettled === undefined) return;
  const handle = onSettled as FunctionHandle<"mutation", { mentionId: Id<"mentions"> }>;
  await ctx.scheduler.runAfter(0, handle, { mentionId });
}
