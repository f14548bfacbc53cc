import { v } from "convex/values";
import { mutation, query } from "../_generated/server";
import { charge } from "../lib/limits/charges";
import { endFreeze, freezeAccount } from "../messenger/owners";
import { levelRowOf } from "../users/levels";
import { requireUser } from "../users/model";

/** Freezing an account by its signed-in owner; in the bot the command is `/freeze`. */

/** When the caller's account was frozen (epoch ms); `null` if it is not frozen. */
export const mine = query({
  args: {},
  returns: v.union(v.number(), v.null()),
  handler: async (ctx) => (await levelRowOf(ctx, (await requireUser(ctx)).userId))?.frozenAt ?? null,
});

/** Stops all signing for the caller's wallets, and cancels pending changes that would loosen their rules. */
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

/** Ends the freeze. Permissions from before it stay void. */
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
