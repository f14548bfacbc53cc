import { v, type Infer } from "convex/values";
import type { Hex } from "viem";
import type { Doc, Id } from "../../_generated/dataModel";
import type { MutationCtx } from "../../_generated/server";
import { recordAudit } from "../../lib/records/audit";
import { NOBODY } from "../../lib/records/records";
import { asHex } from "../addresses";
import { byWalletId } from "../model";
import { DRIVER_LEASE_MS, nextCheck } from "./states";

/** Signed bytes on the rows of transactions: stored with their nonce before anybody outside has them. Plain functions. */

type Transaction = Doc<"transactions">;

/** The bytes to send, or `null` while nothing is signed. */
export function bytesOf({
  rawTransaction,
  replacement,
}: Pick<Transaction, "rawTransaction" | "replacement">): Hex | null {
  const raw = replacement?.rawTransaction ?? rawTransaction;
  return raw === undefined ? null : asHex(raw);
}

/** All hashes under which it may be mined. */
export function hashesOf({ txHash, replacement }: Transaction): Hex[] {
  const own = txHash === undefined ? [] : [txHash];
  const others = replacement === undefined ? [] : [...replacement.outpriced, replacement];
  return [...own, ...others.map(({ txHash: hash }) => hash)].map(asHex);
}

export const vSignedBytes = v.object({ nonce: v.number(), rawTransaction: v.string(), txHash: v.string() });
export type SignedBytes = Infer<typeof vSignedBytes>;

export const vSigned = v.object({ walletId: v.string(), driver: v.number(), ...vSignedBytes.fields });

/** @returns `false` if the driver was replaced or the nonce is taken: the bytes are void. */
export async function takeNonce(
  ctx: MutationCtx,
  signed: { walletId: string; driver: number; nonce: number },
): Promise<boolean> {
  const wallet = await byWalletId(ctx, signed.walletId);
  if (wallet.driver !== signed.driver || signed.nonce < (wallet.nextNonce ?? 0)) return false;
  await ctx.db.patch("wallets", wallet._id, {
    nextNonce: signed.nonce + 1,
    leaseUntil: Date.now() + DRIVER_LEASE_MS,
  });
  return true;
}

/** Creates a transaction with its signed bytes, for those that nobody has ordered. */
export async function insertSigned(
  ctx: MutationCtx,
  { walletId, userId, address }: Pick<Transaction, "walletId" | "userId" | "address">,
  { signed, ...row }: Pick<Transaction, "request" | "parentId" | "permissionId"> & { signed: SignedBytes },
): Promise<Id<"transactions">> {
  const fresh = { walletId, userId, address, ...row, createdAt: Date.now(), checks: 0 };
  const transactionId = await ctx.db.insert("transactions", { ...fresh, ...signedFields(signed) });
  await auditSigning(ctx, { ...fresh, _id: transactionId }, `${row.request.kind} ${signed.txHash}`);
  return transactionId;
}

/** Bytes are sent right after they are stored: from here on somebody outside may have them. */
export function signedFields({ nonce, rawTransaction, txHash }: SignedBytes) {
  const now = Date.now();
  const signed = { nonce, rawTransaction, txHash, handedOutAt: now };
  return { state: "signed" as const, ...signed, nextCheckAt: nextCheck(now, 0) };
}

/** Records a signature in the audit trail, for the user or, by its address, for a service account. */
export async function auditSigning(
  ctx: MutationCtx,
  { _id, userId, address }: Pick<Transaction, "_id" | "userId" | "address">,
  detail: string,
): Promise<void> {
  const actor = userId === NOBODY ? address : userId;
  await recordAudit(ctx, { actor, action: "transaction signed", subject: _id, detail });
}
