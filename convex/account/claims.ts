import { v, type Infer } from "convex/values";
import { internal } from "../_generated/api";
import { action, type ActionCtx } from "../_generated/server";
import { requireIdentity } from "../lib/security/auth";
import { charge } from "../lib/limits/charges";
import { vLeftovers } from "./ownership/leftovers";
import { vClaimed } from "./ownership/binding";
import { vLeftover } from "./tables";

/**
 * Makes a `userId` that the caller already uses over HTTP their own: whoever knows it may, once, first come. From then on
 * what its level says moves with the caller's token alone. What others may have set on it before (chat, bot, webhooks, alerts,
 * shifts) ends, but for what the caller keeps. The id made at sign-in is given up for it, so nothing may hang on that.
 *
 * An id that could be guessed and has a wallet waits for 48 hours (`account/pendingClaims`).
 * @throws AppError `invalid_request` for what is no userId; `not_found` for one that its owner has replaced; `conflict` when it is another user's, when the caller has
 * claimed another, when another claim of it waits or was contested within a week, or when their present account is in use; `rate_limited`.
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
 * What stands on a `userId` that nobody owns, for whoever may want to claim it: others may have set it.
 * @throws AppError `conflict` when it is another user's; `rate_limited`.
 */
export const findLeftovers = action({
  args: { userId: v.string() },
  returns: vLeftovers,
  handler: async (ctx, { userId }): Promise<Infer<typeof vLeftovers>> => {
    await countTry(ctx);
    return ctx.runQuery(internal.account.ownership.binding.leftovers, { userId });
  },
});

/** Counted in a transaction of its own: a refused claim, which may be a guess, counts too. */
async function countTry(ctx: ActionCtx): Promise<void> {
  const { tokenIdentifier } = await requireIdentity(ctx);
  await charge(ctx, "claim", { userId: tokenIdentifier, address: null });
}
