import { isHex, type Address } from "viem";
import { privateKeyToAccount, type PrivateKeyAccount } from "viem/accounts";
import { optional, required } from "../../lib/env";
import { AppError } from "../../lib/errors";
import type { ServiceRole } from "../rows";

/**
 * The service's own accounts, which hold gas and nothing else. The relayer carries out signed payments: it can redirect
 * nothing, since who pays whom how much is signed by the payer. The anchor puts the signal record's head on the chain. The
 * only place where their keys are read. For actions.
 */

const KEYS = { relayer: "X402_RELAYER_PRIVATE_KEY", anchor: "ANCHOR_PRIVATE_KEY" } as const satisfies Record<
  ServiceRole,
  string
>;

/** @throws AppError `not_configured` without a usable key; its value is in no message. */
export function serviceAccount(role: ServiceRole): PrivateKeyAccount {
  const key = required(KEYS[role]);
  try {
    if (isHex(key)) return privateKeyToAccount(key);
  } catch {
    // Zero, or above the curve's order: the thrown message may quote the key.
  }
  throw new AppError("not_configured", `${KEYS[role]} is not configured correctly`);
}

/** The address that pays the gas, checksummed; `null` without a key. */
export function serviceAddress(role: ServiceRole): Address | null {
  return optional(KEYS[role]) === undefined ? null : serviceAccount(role).address;
}
