import type { Doc, Id } from "../_generated/dataModel";
import type { MutationCtx } from "../_generated/server";
import type { TransactionRequest } from "./tables";

/** Swaps and sends as trades: one row each, beside the transaction that carries it out. */

export async function openTrade(
  ctx: MutationCtx,
  trade: {
    userId: string;
    source: Doc<"trades">["source"];
    transactionId: Id<"transactions">;
    request: TransactionRequest;
    now: number;
  },
): Promise<void> {
  const { userId, source, transactionId, request, now } = trade;
  if (request.kind === "approve") return;
  const { amount } = request;
  const row = { userId, source, transactionId, amount, status: "pending" as const, createdAt: now };
  if (request.kind === "send") {
    const { token, toAddress } = request;
    await ctx.db.insert("trades", { ...row, action: "send", fromToken: token, toAddress });
  } else {
    const { fromToken, toToken } = request;
    await ctx.db.insert("trades", { ...row, action: "swap", fromToken, toToken });
  }
}

export async function settleTrade(
  ctx: MutationCtx,
  row: Doc<"transactions">,
  status: "confirmed" | "failed",
  error: string | undefined,
): Promise<void> {
  const trade = await ctx.db
    .query("trades")
    .withIndex("by_transactionId", (q) => q.eq("transactionId", row._id))
    .unique();
  if (trade === null) return;
  await ctx.db.patch("trades", trade._id, {
    status,
    ...(row.txHash === undefined ? {} : { txHash: row.txHash }),
    ...(error === undefined ? {} : { error }),
  });
}
