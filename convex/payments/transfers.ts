import { v, type Infer } from "convex/values";
import { getOneFrom } from "convex-helpers/server/relationships";
import type { Doc } from "../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../_generated/server";
import { deduct, depositor, standingOf } from "../credits/model";
import { creditsFor } from "../credits/rates";
import { setting } from "../lib/env";
import { PRICE } from "./terms";
import type { Transfer } from "./tables";

/**
 * Spending transfers exactly once, shared by paid reports and deposits. Plain functions: the callers' mutations are the
 * transactions that decide.
 */

type Place = Pick<Transfer, "txHash" | "position">;

export function isConfirmed({ confirmations }: { confirmations: number }): boolean {
  return confirmations >= Number(setting("CONFIRMATIONS"));
}

/** The key of a transfer: `0x…:3`. */
export function transferKey({ txHash, position }: Place): string {
  return `${txHash.toLowerCase()}:${position}`;
}

/**
 * The ledger's key of a deposit. A key is credited once and reversed once, so a transfer that is mined again after a
 * reorganisation gets a new one.
 * @param crediting Counts from 1.
 */
export function depositKey(transfer: Place, crediting: number): string {
  const key = `deposit:${transferKey(transfer)}`;
  return crediting === 1 ? key : `${key}:${crediting}`;
}

/** The ledger's key of a report that was paid out of a deposit's credits. */
export function reportKey(transfer: Place): string {
  return `report:${transferKey(transfer)}`;
}

/** The key of a signed payment's claim. */
export function authorizationKey({ from, nonce }: { from: string; nonce: string }): string {
  return `auth:${from.toLowerCase()}:${nonce.toLowerCase()}`;
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

/** Removes a deposit's mark from a transfer that the chain has dropped: mined again, it can be credited again. */
export async function releaseDeposit(ctx: MutationCtx, transfer: Place): Promise<void> {
  const row = await spentTransfer(ctx, transfer);
  if (row === null) return;
  if (row.claimKey === undefined) await ctx.db.delete("spentTransfers", row._id);
  else await ctx.db.patch("spentTransfers", row._id, { depositKey: undefined });
}

/** How many transfers of one transaction are searched for the one that a claim took. */
const MANY_TRANSFERS = 50;

/** The part of a claim's transfer beyond the price of its report. */
export const vRest = v.object({
  /** Digits, USDC's smallest unit. */
  amount: v.string(),
  /** `pending` until the chain was asked, `kept` while its sender has no user. */
  state: v.union(v.literal("credited"), v.literal("kept"), v.literal("pending"), v.literal("ignored")),
  /** Credits for the account of the paying wallet. */
  credits: v.union(v.number(), v.null()),
});
export type Rest = Infer<typeof vRest>;

/** `null` if a claim has used its whole transfer. */
export async function restOf(
  ctx: QueryCtx,
  { key, txHash }: Pick<Doc<"paymentClaims">, "key" | "txHash">,
): Promise<Rest | null> {
  if (txHash === undefined) return null;
  const rows = await ctx.db
    .query("spentTransfers")
    .withIndex("by_transfer", (q) => q.eq("txHash", txHash))
    .take(MANY_TRANSFERS);
  const transfer = rows.find(({ claimKey }) => claimKey === key);
  if (transfer === undefined || BigInt(transfer.amount) <= PRICE) return null;
  const amount = (BigInt(transfer.amount) - PRICE).toString();
  const deposit = await depositAt(ctx, transfer);
  switch (deposit?.state) {
    case "credited":
      return { amount, state: "credited", credits: deposit.credits ?? null };
    case "unmatched":
      return { amount, state: "kept", credits: null };
    case "ignored":
      return { amount, state: "ignored", credits: null };
    case "pending":
    case "reversed":
    case undefined:
      return { amount, state: "pending", credits: null };
  }
}

export async function depositAt(ctx: QueryCtx, { txHash, position }: Place): Promise<Doc<"deposits"> | null> {
  return ctx.db
    .query("deposits")
    .withIndex("by_transfer", (q) => q.eq("txHash", txHash).eq("position", position))
    .unique();
}

/**
 * Buys a report with a transfer that was credited as a deposit before: its price is taken from the credits, in the
 * transaction that claims it.
 * @returns `false` if the credits are another user's (unless the payer has signed), or are spent.
 */
export async function payFromCredits(
  ctx: MutationCtx,
  transfer: Place,
  userId: string | undefined,
  strength: Doc<"paymentClaims">["strength"],
): Promise<boolean> {
  const deposit = await depositAt(ctx, transfer);
  if (deposit?.state !== "credited") return false;
  // The ledger has the user, even if the deposit's row was made anonymous.
  const owner = await depositor(ctx, depositKey(deposit, deposit.creditings));
  if (owner === null || (strength < 2 && owner !== userId)) return false;
  // A signed payment is known before it is mined: the deposit has left the report's price out from the start.
  if (deposit.lessReport === true) return true;
  const amount = creditsFor(PRICE);
  const { balance } = await standingOf(ctx, owner);
  if (amount > 0 && balance < amount) return false;
  if (amount > 0) {
    await deduct(ctx, { userId: owner, amount, key: reportKey(transfer), source: "report" });
  }
  return true;
}
