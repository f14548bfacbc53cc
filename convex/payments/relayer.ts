import { isHex, keccak256, type Address, type Hex, type TransactionSerializableEIP1559 } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { optional, required } from "../lib/env";
import { AppError } from "../lib/errors";

/**
 * The gas account that carries out signed payments. It can redirect nothing: who pays whom how much is signed by the
 * payer. The only place where its key is read. For actions.
 */

export type Relayer = {
  /** Checksummed. */
  address: Address;
  sign: (transaction: TransactionSerializableEIP1559) => Promise<{ rawTransaction: Hex; txHash: Hex }>;
};

/** @throws AppError `not_configured` without a usable key; its value is in no message. */
export function openRelayer(): Relayer {
  const account = accountOf(required("X402_RELAYER_PRIVATE_KEY"));
  return {
    address: account.address,
    sign: async (transaction) => {
      const rawTransaction = await account.signTransaction(transaction);
      return { rawTransaction, txHash: keccak256(rawTransaction) };
    },
  };
}

/** The address that pays the gas; `null` where a facilitator carries out the payments. */
export function relayerAddress(): Address | null {
  return optional("X402_RELAYER_PRIVATE_KEY") === undefined ? null : openRelayer().address;
}

function accountOf(key: string) {
  try {
    if (isHex(key)) return privateKeyToAccount(key);
  } catch {
    // Zero, or above the curve's order: the thrown message may quote the key.
  }
  throw new AppError("not_configured", "X402_RELAYER_PRIVATE_KEY is not configured correctly");
}
