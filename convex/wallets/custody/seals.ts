import type { SealContext } from "../../lib/sealing";

/** A key's envelope opens for the wallet it was made for alone. */
export function keySeal(walletId: string): SealContext {
  return { purpose: "wallet private key", owner: walletId };
}
