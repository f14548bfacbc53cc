import { v } from "convex/values";
import { parse } from "convex-helpers/validators";
import { mutation, query } from "../_generated/server";
import { requireIdentity } from "../lib/security/auth";
import { addressesOf, findUser, newUserId } from "./model";
import { nameOf } from "./names";
import { userTables } from "./tables";

/** The signed-in user's own profile. */

const vMe = userTables.users.validator.pick("userId", "claimed", "createdAt").extend({
  addresses: v.array(userTables.linkedAddresses.validator.pick("address", "linkedAt")),
});

/** The caller's profile; `null` before their first sign-in. Linked addresses are lower-case, times in epoch ms. */
export const me = query({
  args: {},
  returns: v.union(vMe, v.null()),
  handler: async (ctx) => {
    const user = await findUser(ctx);
    if (user === null) return null;
    const { userId } = user;
    const addresses = await addressesOf(ctx, userId);
    return parse(vMe, { ...user, userId: await nameOf(ctx, userId), addresses });
  },
});

/** The first sign-in gives the caller a `userId` of their own; every later one returns it. */
export const signIn = mutation({
  args: {},
  returns: v.object({ userId: v.string() }),
  handler: async (ctx) => {
    const { tokenIdentifier } = await requireIdentity(ctx);
    const present = await findUser(ctx);
    if (present !== null) return { userId: await nameOf(ctx, present.userId) };
    const userId = newUserId();
    await ctx.db.insert("users", { tokenIdentifier, userId, claimed: false, createdAt: Date.now() });
    return { userId };
  },
});
