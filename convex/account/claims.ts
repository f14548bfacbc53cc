import { v, type Infer } from "convex/values";
import { internal } from "../_generated/api";
import { action, type ActionCtx } from "../_generated/server";
import { requireIdentity } from "../lib/security/auth";
import { charge } from "../lib/limits/charges";
import { vLeftovers } from "./ownership/leftovers";
import { vClaimed } from "./ownership/binding";
import { vLeftover } from "./tables";

/**
 * Makes the caller the owner of a `userId` that they already use over HTTP. The first caller who knows the id can claim
 * it; after that, its level decides what needs the caller's token. Everything that others may have set on it (chat, bot,
 * webhooks, alerts, shifts) ends, except what the caller keeps. The caller gives up the id made at sign-in, so that
 * account must not be in use.
 *
 * The claim of an id that could be guessed and has a wallet waits for 48 hours (`account/pendingClaims`).
 * @throws AppError `invalid_request` if it is not a userId; `not_found` if its owner has replaced it; `conflict` if it is
 * another user's, the caller has claimed another, another claim of it is pending or was contested within a week, or the
 * caller's present account is in use; `rate_limited`.
 */
export const claimUserId = action({
  args: { userId: v.string(), keep: v.optional(v.array(vLeftover)) },
  returns: vClaimed,
  handler: async (ctx, { userId, keep = [] }): Promise<Infer<typeof vClaimed>> => {
    await countTry(ctx);
    return ctx.runMutation(internal.account.ownership.binding.claim, { userId, keep });
  },
});

/**
 * Everything that is set on a `userId` without an owner; others than the caller may have set it.
 * @throws AppError `conflict` if it is another user's; `rate_limited`.
 */
export const findLeftovers = action({
  args: { userId: v.string() },
  returns: vLeftovers,
  handler: async (ctx, { userId }): Promise<Infer<typeof vLeftovers>> => {
    await countTry(ctx);
    return ctx.runQuery(internal.account.ownership.binding.leftovers, { userId });
  },
});

/** Counts in a separate transaction, because a refused claim may be a guess and has to count too. */
async function countTry(ctx: ActionCtx): Promise<void> {
  const { tokenIdentifier } = await requireIdentity(ctx);
  await charge(ctx, "claim", { userId: tokenIdentifier, address: null });
}
