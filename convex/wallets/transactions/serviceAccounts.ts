import type { Doc, Id } from "../../_generated/dataModel";
import type { MutationCtx } from "../../_generated/server";
import { NOBODY } from "../../lib/records/records";
import { walletById, insertWallet } from "../model";
import { serviceWalletId, type ServiceRole } from "../custody/services";
import { insertSigned, type SignedBytes } from "./bytes";
import type { TransactionRequest } from "./tables";

/**
 * The service's own accounts in the transaction machine: the payment relayer and the anchor of the signal record. Each
 * sender signs for itself, without a single driver: payments belong to many people, and one that waits for its answer
 * must not hold up the others.
 */

/**
 * Stores signed bytes of a service account and takes their nonce, in the caller's transaction: a crash before it takes
 * none.
 * @returns `null` if another transaction has taken the nonce meanwhile: the bytes are void.
 */
export async function storeSigned(
  ctx: MutationCtx,
  {
    role,
    address,
    request,
    signed,
  }: { role: ServiceRole; address: string; request: TransactionRequest; signed: SignedBytes },
): Promise<Id<"transactions"> | null> {
  const account = await accountOf(ctx, role, address);
  if (signed.nonce < (account.nextNonce ?? 0)) return null;
  await ctx.db.patch("wallets", account._id, { nextNonce: signed.nonce + 1 });
  return insertSigned(ctx, account, { request, signed });
}

async function accountOf(ctx: MutationCtx, role: ServiceRole, address: string): Promise<Doc<"wallets">> {
  const walletId = serviceWalletId(role, address);
  const present = await walletById(ctx, walletId);
  if (present !== null) return present;
  const id = await insertWallet(ctx, { walletId, userId: NOBODY, kind: role, address });
  return (await ctx.db.get("wallets", id)) ?? accountOf(ctx, role, address);
}
