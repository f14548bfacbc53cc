import type { Infer } from "convex/values";
import { internal } from "../_generated/api";
import { internalAction } from "../_generated/server";
import { resealAll, vRotated } from "../lib/security/rotation";

/**
 * Seals every bot token and every webhook's secret again that is not under the current `WALLET_ENCRYPTION_KEY`; run it
 * with the rotation of the wallets' keys (`wallets/actions:rotate`). Safe to run twice, and to resume after a crash.
 * @returns How many were sealed again, and the users and webhooks whose envelope does not open: those stay as they are.
 */
export const rotate = internalAction({
  args: {},
  returns: vRotated,
  handler: async (ctx): Promise<Infer<typeof vRotated>> => {
    const tokens = await resealAll(
      ctx,
      internal.messenger.configs.outdated,
      internal.messenger.configs.replaceTokens,
    );
    const secrets = await resealAll(
      ctx,
      internal.messenger.webhooks.events.outdated,
      internal.messenger.webhooks.events.replaceSecrets,
    );
    return {
      rotated: tokens.rotated + secrets.rotated,
      failed: [...tokens.failed, ...secrets.failed],
    };
  },
});
