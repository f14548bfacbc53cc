import type { Infer } from "convex/values";
import { internal } from "../_generated/api";
import { internalAction } from "../_generated/server";
import { resealAll, vRotated } from "../lib/security/rotation";

/**
 * Seals every bot token again that is not under the current `WALLET_ENCRYPTION_KEY`; run it with the rotation of the
 * wallets' keys (`wallets/custody/keys:rotate`). Safe to run twice, and to resume after a crash.
 * @returns How many tokens were sealed again, and the users whose envelope does not open: those stay as they are.
 */
export const rotate = internalAction({
  args: {},
  returns: vRotated,
  handler: async (ctx): Promise<Infer<typeof vRotated>> => {
    return resealAll(ctx, internal.messenger.configs.outdated, internal.messenger.configs.replaceTokens);
  },
});
