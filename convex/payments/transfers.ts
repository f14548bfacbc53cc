import { getOneFrom } from "convex-helpers/server/relationships";
import type { Doc } from "../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../_generated/server";
import { balanceOf, creditsFor, deduct, depositor } from "../credits/model";
import { rowsByBoth } from "../lib/records/rows";
import { PRICE } from "./terms";
import type { Transfer } from "./tables";

/**
 * Spending transfers exactly once, shared by paid reports and deposits. Plain functions: the callers' mutations are the
 * transactions that decide.
 */

type Place = Pick<Transfer, "txHash" | "position">;

/** The key of a transfer: `0x…:3`. */
export function transferKey({ txHash, position }: Place): string {
  return `${txHash.toLowerCase()}:${position}`;
}

/** The ledger's key of a deposit. */
export function depositKey(transfer: Place): string {
  return `deposit:${transferKey(transfer)}`;
}

/** The ledger's key of a report that was paid out of a deposit's credits. */
function reportKey(transfer: Place): string {
  return `report:${transferKey(transfer)}`;
}

/** The key of a signed payment's claim. */
export function authorizationKey({ from, nonce }: { from: string; nonce: string }): string {
  return `auth:${from.toLowerCase()}:${nonce.toLowerCase()}`;
}

/** A payer's claims in a state, the oldest first. @param payer In lower case. */
export function claimsOf(ctx: QueryCtx, payer: string, state: Doc<"paymentClaims">["state"]) {
  return rowsByBoth(ctx.db.query("paymentClaims"), "payer", payer, "state", state);
}

export async function claimByKey(ctx: QueryCtx, key: string): Promise<Doc<"paymentClaims"> | null> {
  return getOneFrom(ctx.db, "paymentClaims", "by_key", key);
}

/** What a transfer has bought so far; `null` if nothing. */
export async function spentTransfer(
  ctx: QueryCtx,
  { txHash, position }: Place,
): Promise<Doc<"spentTransfers"> | null> {
  return ctx.db
    .query("spentTransfers")
    .withIndex("by_transfer", (q) => q.eq("txHash", txHash.toLowerCase()).eq("position", position))
    .unique();
}

/** Marks what a transfer has bought. Earlier marks stay; a second report or a second deposit is a bug. */
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
  if (taken !== undefined) throw new Error("The transfer has been spent already");
  await ctx.db.patch("spentTransfers", row._id, use);
}

export async function depositAt(ctx: QueryCtx, { txHash, position }: Place): Promise<Doc<"deposits"> | null> {
  return ctx.db
    .query("deposits")
    .withIndex("by_transfer", (q) => q.eq("txHash", txHash).eq("position", position))
    .unique();
}

/**
 * Whether a transfer can buy a report: it bought nothing yet, or credits, of which the price is taken then, in the
 * transaction that claims it.
 * @param by Another user's credits buy nothing, unless the payer has signed.
 */
export async function canBuy(
  ctx: MutationCtx,
  transfer: Place,
  by: { userId?: string | undefined; proven: boolean },
): Promise<boolean> {
  const spent = await spentTransfer(ctx, transfer);
  if (spent?.claimKey !== undefined) return false;
  if (spent === null) return true;
  const deposit = await depositAt(ctx, transfer);
  if (deposit?.state !== "credited") return false;
  // The ledger has the user, even if the deposit's row was made anonymous.
  const owner = await depositor(ctx, depositKey(deposit));
  if (owner === null || (!by.proven && owner !== by.userId)) return false;
  const amount = creditsFor(PRICE);
  if ((await balanceOf(ctx, owner)) < amount) return false;
  if (amount > 0) await deduct(ctx, { userId: owner, amount, key: reportKey(transfer), source: "report" });
  return true;
}
