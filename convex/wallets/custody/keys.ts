import type { Infer } from "convex/values";
import { internal } from "../../_generated/api";
import { internalAction } from "../../_generated/server";
import { resealAll, vRotated } from "../../lib/security/rotation";

/** Seals users' wallet keys under another master key. */

/**
 * Seals every key again that is not under the current `WALLET_ENCRYPTION_KEY`, batch after batch; run it after a change
 * of the key, with the old one in `WALLET_ENCRYPTION_KEY_PREVIOUS`. Safe to run twice, and to resume after a crash.
 * @returns How many keys were sealed again, and the wallets whose envelope does not open: those stay as they are.
 */
export const rotate = internalAction({
  args: {},
  returns: vRotated,
  handler: async (ctx): Promise<Infer<typeof vRotated>> => {
    return resealAll(
      ctx,
      internal.wallets.custody.envelopes.outdated,
      internal.wallets.custody.envelopes.replace,
    );
  },
});
