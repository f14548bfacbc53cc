import type { FunctionHandle } from "convex/server";
import { getOneFrom } from "convex-helpers/server/relationships";
import { internal } from "../_generated/api";
import type { Doc, Id } from "../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../_generated/server";

/** Swaps and sends as trades: one row each, beside its transaction. */

/** The social mention that ordered a trade, and the word it used. */
export type Mentioned = {
  mentionId: Id<"mentions">;
  action: Exclude<Doc<"trades">["action"], "unknown">;
  /** Handle of a mutation to call with the mention's id when the trade has ended. */
  onSettled: string;
};

export async function openTrade(
  ctx: MutationCtx,
  trade: {
    userId: string;
    source: Doc<"trades">["source"];
    transactionId: Id<"transactions">;
    request: Doc<"transactions">["request"];
    now: number;
    mentioned: Mentioned | undefined;
  },
): Promise<void> {
  const { userId, source, transactionId, request, now, mentioned } = trade;
  if (request.kind !== "send" && request.kind !== "swap") return;
  const moved =
    request.kind === "send"
      ? { fromToken: request.token, toAddress: request.toAddress }
      : { fromToken: request.fromToken, toToken: request.toToken };
  const { action = request.kind, ...asked } = mentioned ?? {};
  await ctx.db.insert("trades", {
    ...{ userId, source, transactionId, action, ...moved, ...asked },
    amount: request.amount,
    status: "pending",
    createdAt: now,
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

export async function tradeOf(
  ctx: QueryCtx,
  transactionId: Id<"transactions">,
): Promise<Doc<"trades"> | null> {
  return getOneFrom(ctx.db, "trades", "by_transactionId", transactionId);
}

export async function settleTrade(
  ctx: MutationCtx,
  row: Doc<"transactions">,
  status: "confirmed" | "failed",
  error: string | undefined,
): Promise<void> {
  const trade = await tradeOf(ctx, row._id);
  if (trade === null) return;
  await ctx.db.patch("trades", trade._id, {
    status,
    ...(row.txHash === undefined ? {} : { txHash: row.txHash }),
    ...(error === undefined ? {} : { error }),
  });
  const permission =
    row.permissionId === undefined ? null : await ctx.db.get("permissions", row.permissionId);
  if (permission?.by === "chat" || permission?.by === "approval")
    await ctx.scheduler.runAfter(0, internal.wallets.orders.notices.ended, { transactionId: row._id });
  const { mentionId, onSettled } = trade;
  if (mentionId === undefined || onSettled === undefined) return;
  const handle = onSettled as FunctionHandle<"mutation", { mentionId: Id<"mentions"> }>;
  await ctx.scheduler.runAfter(0, handle, { mentionId });
}
