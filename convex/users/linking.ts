import { v } from "convex/values";
import { isAddress, isHex, verifyMessage } from "viem";
import { internal } from "../_generated/api";
import { action } from "../_generated/server";
import { AppError } from "../lib/errors";
import { charge } from "../lib/limits/charges";

/**
 * Links the address of the caller's open challenge.
 * @param args.signature EIP-191 signature of the challenge's message by the address's key, 0x and hex digits.
 * @throws AppError `invalid_request` without an open challenge or for another address's signature; `conflict` if the
 * user has too many addresses.
 */
export const linkAddress = action({
  args: { signature: v.string() },
  returns: v.object({ address: v.string() }),
  handler: async (ctx, { signature }): Promise<{ address: string }> => {
    const userId = await ctx.runQuery(internal.users.access.mine, {});
    await charge(ctx, "settings", { userId, address: null });
    const challenge = await ctx.runQuery(internal.users.addresses.openChallenge, {});
    if (challenge === null) throw new AppError("invalid_request", "Ask for a challenge first");
    if (!(await isSignedBy(challenge.address, challenge.message, signature))) {
      throw new AppError("invalid_request", "The challenge was not signed by this address");
    }
    return ctx.runMutation(internal.users.addresses.link, { nonce: challenge.nonce });
  },
});

/** Recovers the signer; contract accounts cannot sign here. */
async function isSignedBy(address: string, message: string, signature: string): Promise<boolean> {
  if (!isAddress(address) || !isHex(signature)) return false;
  // viem throws for bytes that are not a signature.
  return verifyMessage({ address, message, signature }).catch(() => false);
}
