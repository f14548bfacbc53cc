import { v } from "convex/values";
import { mutation, query } from "../_generated/server";
import { charge } from "../lib/limits/charges";
import { endFreeze, freezeAccount } from "../messenger/owners";
import { levelRowOf } from "../users/levels";
import { requireUser } from "../users/model";

/** Freezing an account, as its signed-in owner does it; in the bot it is `/freeze`. */

/** Since when the caller's account is frozen, epoch ms; `null` where it is not. */
export const mine = query({
  args: {},
  returns: v.union(v.number(), v.null()),
  handler: async (ctx) => (await levelRowOf(ctx, (await requireUser(ctx)).userId))?.frozenAt ?? null,
});

/** Stops everything that would be signed for the caller's wallets, and calls off what would loosen their rules. */
export const freeze = mutation({
  args: {},
  returns: v.null(),
  handler: async (ctx) => {
    const { userId } = await requireUser(ctx);
    await charge(ctx, "settings", { userId, address: null });
    await freezeAccount(ctx, userId, "token");
    return null;
  },
});

/** Ends it. What was allowed before stays void. */
export const unfreeze = mutation({
  args: {},
  returns: v.null(),
  handler: async (ctx) => {
    const { userId } = await requireUser(ctx);
    await charge(ctx, "settings", { userId, address: null });
    if ((await levelRowOf(ctx, userId))?.frozenAt === undefined) return null;
    await endFreeze(ctx, userId, "token");
    return null;
  },
});
