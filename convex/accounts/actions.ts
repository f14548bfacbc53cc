import { v } from "convex/values";
import { isAddress, isHex, verifyMessage } from "viem";
import { internal } from "../_generated/api";
import { action } from "../_generated/server";
import { AppError } from "../lib/errors";
import { charge } from "../lib/limits/charges";
import { requireIdentity } from "../lib/security/auth";

/** What the web application asks of accounts that takes more than one transaction. */

/**
 * Makes the caller the owner of a `userId` that they already use over HTTP: at once or, if it has a wallet, after 48
 * hours. The caller gives up the id made at sign-in, so that account must not be in use. What others have set on the
 * claimed one (chat, bot, webhooks, alerts, shifts) ends when it is theirs.
 * @returns `pendingUntil`: when it takes effect (epoch ms); `null` if it has.
 * @throws AppError `invalid_request` if it is not a userId; `not_found` if its owner has replaced it; `conflict` if it is
 * another user's, the caller has claimed another, another claim of it waits or was ended within a week, or the caller's
 * present account is in use; `rate_limited`.
 */
export const claimUserId = action({
  args: { userId: v.string() },
  returns: v.object({ userId: v.string(), pendingUntil: v.union(v.number(), v.null()) }),
  handler: async (ctx, { userId }): Promise<{ userId: string; pendingUntil: number | null }> => {
    const { tokenIdentifier } = await requireIdentity(ctx);
    // Counted in a transaction of its own, because a refused claim may be a guess and has to count too.
    await charge(ctx, "claim", { userId: tokenIdentifier, address: null });
    return ctx.runMutation(internal.accounts.claims.claim, { userId });
  },
});

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
    const userId = await ctx.runQuery(internal.accounts.access.mine, {});
    await charge(ctx, "settings", { userId, address: null });
    const challenge = await ctx.runQuery(internal.accounts.addresses.openChallenge, {});
    if (challenge === null) throw new AppError("invalid_request", "Ask for a challenge first");
    if (!(await isSignedBy(challenge.address, challenge.message, signature)))
      throw new AppError("invalid_request", "The challenge was not signed by this address");
    return ctx.runMutation(internal.accounts.addresses.link, { nonce: challenge.nonce });
  },
});

/** Recovers the signer; contract accounts cannot sign here. */
async function isSignedBy(address: string, message: string, signature: string): Promise<boolean> {
  if (!isAddress(address) || !isHex(signature)) return false;
  // viem throws for bytes that are not a signature.
  return verifyMessage({ address, message, signature }).catch(() => false);
}
