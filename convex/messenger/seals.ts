import type { SealContext } from "../lib/security/seals";

/** A bot token's envelope opens for the user it was stored for alone. */
export function botTokenSeal(userId: string): SealContext {
  return { purpose: "messenger bot token", owner: userId };
}
