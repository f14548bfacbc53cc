import type { SealContext } from "../lib/security/seals";

/** The context of a bot token's envelope: it opens only for the user it was stored for. */
export function botTokenSeal(userId: string): SealContext {
  return { purpose: "messenger bot token", owner: userId };
}
