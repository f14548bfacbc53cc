import { isHex, type Address } from "viem";
import { privateKeyToAccount, type PrivateKeyAccount } from "viem/accounts";
import { optional, required } from "../../lib/env";
import { AppError } from "../../lib/errors";

/**
 * The gas account that carries out signed payments. It can redirect nothing: who pays whom how much is signed by the
 * payer. The only place where its key is read. For actions.
 */

/** @throws AppError `not_configured` without a usable key; its value is in no message. */
export function relayerAccount(): PrivateKeyAccount {
  const key = required("X402_RELAYER_PRIVATE_KEY");
  try {
    if (isHex(key)) return privateKeyToAccount(key);
  } catch {
    // Zero, or above the curve's order: the thrown message may quote the key.
  }
  throw new AppError("not_configured", "X402_RELAYER_PRIVATE_KEY is not configured correctly");
}

/** The address that pays the gas, checksummed; `null` where a facilitator carries out the payments. */
export function relayerAddress(): Address | null {
  return optional("X402_RELAYER_PRIVATE_KEY") === undefined ? null : relayerAccount().address;
}
