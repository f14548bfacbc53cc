import { type Address, type Hex, keccak256 } from "viem";
import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { CHAIN_ID } from "../lib/base";
import { AppError } from "../lib/errors";
import type { Preparation, Transaction } from "../providers/chainPreparation";
import { signTransaction } from "./custody/signing";
import { nonceAfter } from "./machine";
import { mendGap } from "./replacing";

/**
 * Signs a service account's call with its next nonce, which is only taken when the bytes are stored. For actions.
 * @param unlikely What to say when the chain names a nonce that cannot be.
 * @throws AppError `upstream`
 */
export async function signNext(
  ctx: ActionCtx,
  {
    walletId,
    address,
    preparation,
    gas,
    call,
    unlikely,
  }: {
    walletId: string;
    address: Address;
    preparation: Preparation;
    gas: bigint;
    call: Transaction;
    unlikely: string;
  },
): Promise<{ nonce: number; rawTransaction: Hex; txHash: Hex }> {
  const { mined } = preparation;
  const next = await ctx.runQuery(internal.wallets.nonces.next, { walletId });
  const nonce = nonceAfter(mined, next);
  if (nonce === null) throw new AppError("upstream", unlikely);
  // What was mined and is not any more would hold up all that comes behind it.
  if (mined < nonce) await mendGap(ctx, { walletId, address, mined, only: "ended" });
  const rawTransaction = await signTransaction(ctx, walletId, {
    type: "eip1559",
    chainId: CHAIN_ID,
    nonce,
    gas,
    ...preparation.fees,
    ...call,
  });
  return { nonce, rawTransaction, txHash: keccak256(rawTransaction) };
}
