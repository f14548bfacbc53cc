import { v } from "convex/values";
import { mutation, query } from "../_generated/server";
import { requireIdentity } from "../lib/auth";
import { addressesOf, findUser, newUserId } from "./model";

/** The signed-in user as such. */

/** Who the caller is here; `null` before their first sign-in. Linked addresses are lower-case. */
export const me = query({
  args: {},
  returns: v.union(
    v.object({
      /** What the HTTP endpoints and the messenger know the user by. */
      userId: v.string(),
      /** It was the user's own already; otherwise one of their own can still be claimed. */
      claimed: v.boolean(),
      /** Epoch ms. */
      createdAt: v.number(),
      addresses: v.array(v.object({ address: v.string(), linkedAt: v.number() })),
    }),
    v.null(),
  ),
  handler: async (ctx) => {
    const user = await findUser(ctx);
    if (user === null) return null;
    const { userId, claimed, createdAt } = user;
    return { userId, claimed, createdAt, addresses: await addressesOf(ctx, userId) };
  },
});

/** The first sign-in gives the caller a `userId` of their own; every later one returns it. */
export const signIn = mutation({
  args: {},
  returns: v.object({ userId: v.string() }),
  handler: async (ctx) => {
    const { tokenIdentifier } = await requireIdentity(ctx);
    const present = await findUser(ctx);
    if (present !== null) return { userId: present.userId };
    const userId = newUserId();
    await ctx.db.insert("users", { tokenIdentifier, userId, claimed: false, createdAt: Date.now() });
    return { userId };
  },
});
