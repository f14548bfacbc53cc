import type { Doc } from "../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../_generated/server";

/** Spending transfers exactly once. Plain functions: the callers' mutations are the transactions that decide. */

/**
 * `position` counts the logs of the transaction from 0, over all its logs: unlike a log's index, which counts the whole
 * block's, it stays when a reorganisation puts the transaction into another block.
 */
export type Transfer = { txHash: string; position: number; from: string; amount: string };

/** The key under which a transfer is known everywhere: `0x…:3`. */
export function transferKey({ txHash, position }: Pick<Transfer, "txHash" | "position">): string {
  return `${txHash.toLowerCase()}:${position}`;
}

/**
 * The ledger's key of a deposit. A key is credited once and reversed once, so a transfer that comes back after a
 * reorganisation takes a new one.
 * @param crediting Counts from 1.
 */
export function depositKey(transfer: Pick<Transfer, "txHash" | "position">, crediting: number): string {
  const key = `deposit:${transferKey(transfer)}`;
  return crediting === 1 ? key : `${key}:${crediting}`;
}

/** The ledger's key of a report that was paid out of a deposit's credits. */
export function reportKey(transfer: Pick<Transfer, "txHash" | "position">): string {
  return `report:${transferKey(transfer)}`;
}

/** What a transfer has bought so far; `null` when nothing. */
export async function spentTransfer(
  ctx: QueryCtx,
  { txHash, position }: Pick<Transfer, "txHash" | "position">,
): Promise<Doc<"spentTransfers"> | null> {
  return ctx.db
    .query("spentTransfers")
    .withIndex("by_transfer", (q) => q.eq("txHash", txHash.toLowerCase()).eq("position", position))
    .unique();
}

/** Marks what a transfer has bought. What it bought before stays; a second report or a second deposit is a bug. */
export async function spendTransfer(
  ctx: MutationCtx,
  transfer: Transfer,
  use: { claimKey: string } | { depositKey: string },
): Promise<void> {
  const row = await spentTransfer(ctx, transfer);
  if (row === null) {
    const { position, amount } = transfer;
    const [txHash, from] = [transfer.txHash.toLowerCase(), transfer.from.toLowerCase()];
    await ctx.db.insert("spentTransfers", { txHash, position, from, amount, ...use });
    return;
  }
  const taken = "claimKey" in use ? row.claimKey : row.depositKey;
  if (taken !== undefined) throw new Error("This transfer was spent before");
  await ctx.db.patch("spentTransfers", row._id, use);
}

/** Takes a deposit's mark off a transfer that the chain has dropped: mined again, it can be credited again. */
export async function releaseDeposit(
  ctx: MutationCtx,
  transfer: Pick<Transfer, "txHash" | "position">,
): Promise<void> {
  const row = await spentTransfer(ctx, transfer);
  if (row === null) return;
  if (row.claimKey === undefined) await ctx.db.delete("spentTransfers", row._id);
  else await ctx.db.patch("spentTransfers", row._id, { depositKey: undefined });
}
