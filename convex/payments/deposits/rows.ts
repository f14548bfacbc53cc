import { getOneFrom } from "convex-helpers/server/relationships";
import type { Doc } from "../../_generated/dataModel";
import type { QueryCtx } from "../../_generated/server";

/** The rows of a transaction: its hint, and its deposits. */

/**
 * More transfers than a transaction can hold: it may use 16,777,216 gas (EIP-7825), and a transfer of USDC uses more
 * than 2,100. Their rows are some four megabytes, a quarter of what one step may read.
 */
export const ALL_TRANSFERS = 8_000;

/** All deposits of a transaction, in the order of its log. */
export async function depositsOf(ctx: QueryCtx, txHash: string): Promise<Doc<"deposits">[]> {
  return ctx.db
    .query("deposits")
    .withIndex("by_transfer", (q) => q.eq("txHash", txHash))
    .take(ALL_TRANSFERS);
}

/** The first deposits of a transaction that the chain has not dropped, as far as is known. */
export async function standingOf(ctx: QueryCtx, txHash: string, most: number): Promise<Doc<"deposits">[]> {
  const deposits = () => ctx.db.query("deposits");
  const dropped = "reversed";
  const before = await deposits()
    .withIndex("by_txHash_and_state", (q) => q.eq("txHash", txHash).lt("state", dropped))
    .take(most);
  if (before.length === most) return before;
  const after = await deposits()
    .withIndex("by_txHash_and_state", (q) => q.eq("txHash", txHash).gt("state", dropped))
    .take(most - before.length);
  return [...before, ...after];
}

/** The hint of a transaction that a webhook named, or `null`. */
export async function hintOf(ctx: QueryCtx, txHash: string): Promise<Doc<"depositHints"> | null> {
  return getOneFrom(ctx.db, "depositHints", "by_txHash", txHash);
}

/** Whether the chain has ever shown a transfer of it. */
export async function hasDeposit(ctx: QueryCtx, txHash: string): Promise<boolean> {
  const first = ctx.db.query("deposits").withIndex("by_transfer", (q) => q.eq("txHash", txHash));
  return (await first.first()) !== null;
}
