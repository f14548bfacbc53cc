import type { Doc, Id } from "../_generated/dataModel";
import type { MutationCtx } from "../_generated/server";
import { auditSigning, signedFields, type SignedBytes } from "./nonces";
import { NOBODY, relayerWalletId, walletById } from "./rows";

/**
 * The payment relayer as an account of the transaction machine. Its payments are signed side by side, not by one driver
 * after another: they belong to many people, and one that waits for its answer is not to hold up the others.
 */

/**
 * Stores signed bytes that carry out a payment and takes their nonce, in the caller's transaction: a crash before it takes
 * none.
 * @param claimKey The payment's claim, see `payments/claims`.
 * @returns `null` when the nonce went to another payment meanwhile: the bytes are void.
 */
export async function storeSettlement(
  ctx: MutationCtx,
  { relayer, claimKey, signed }: { relayer: string; claimKey: string; signed: SignedBytes },
): Promise<Id<"transactions"> | null> {
  const { _id, nextNonce = 0, walletId } = await accountOf(ctx, relayer);
  if (signed.nonce < nextNonce) return null;
  await ctx.db.patch("wallets", _id, { nextNonce: signed.nonce + 1 });
  const request = { kind: "settlement" as const, claimKey };
  const transactionId = await ctx.db.insert("transactions", {
    walletId,
    userId: NOBODY,
    address: relayer,
    request,
    createdAt: Date.now(),
    checks: 0,
    ...signedFields(signed),
  });
  await auditSigning(ctx, { actor: relayer, transactionId, request, txHash: signed.txHash });
  return transactionId;
}

async function accountOf(ctx: MutationCtx, address: string): Promise<Doc<"wallets">> {
  const walletId = relayerWalletId(address);
  const present = await walletById(ctx, walletId);
  if (present !== null) return present;
  const id = await ctx.db.insert("wallets", {
    walletId,
    userId: NOBODY,
    kind: "relayer",
    address,
    createdAt: Date.now(),
    driver: 0,
    driverUntil: 0,
  });
  return (await ctx.db.get("wallets", id)) ?? accountOf(ctx, address);
}
