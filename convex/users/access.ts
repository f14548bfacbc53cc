import { v } from "convex/values";
import { internal } from "../_generated/api";
import { internalQuery, type ActionCtx, type QueryCtx } from "../_generated/server";
import { requireIdentity } from "../lib/auth";
import { AppError } from "../lib/errors";
import { ownerOf, requireUser } from "./model";

/** Who may act for a `userId`. */

/**
 * Guards what moves a user's funds over HTTP, starts or stops their research, or decides who reads their reports: a `userId` that belongs to a signed-in
 * user needs that user's token. One that belongs to nobody is its own credential, and then the Authorization header is
 * not looked at.
 * @throws AppError `unauthorized` without a valid token; `forbidden` with another user's.
 */
export async function assertMayMove(ctx: ActionCtx, userId: string): Promise<void> {
  await ctx.runQuery(internal.users.access.mayMove, { userId });
}

export const mayMove = internalQuery({
  args: { userId: v.string() },
  returns: v.null(),
  handler: async (ctx, { userId }) => {
    await assertMayMoveNow(ctx, userId);
    return null;
  },
});

/** The same in the transaction that decides: a `userId` that was claimed since the caller was let in is guarded too. */
export async function assertMayMoveNow(ctx: QueryCtx, userId: string): Promise<void> {
  const owner = await ownerOf(ctx, userId);
  if (owner === null) return;
  const { tokenIdentifier } = await requireIdentity(ctx);
  if (tokenIdentifier !== owner.tokenIdentifier) {
    throw new AppError("forbidden", "This userId belongs to another signed-in user");
  }
}

/**
 * Whether naming a `userId` shows anything about the caller: nobody's does, since only its user knows it; a signed-in
 * user's does with that user's token alone. The caller's transaction is the one that decides.
 */
export async function mayActAs(ctx: QueryCtx, userId: string | undefined): Promise<boolean> {
  if (userId === undefined) return false;
  const owner = await ownerOf(ctx, userId);
  if (owner === null) return true;
  const identity = await ctx.auth.getUserIdentity().catch(() => null);
  return identity?.tokenIdentifier === owner.tokenIdentifier;
}

/** Whether the caller is taken for the user whose `userId` they name. */
export const speaksFor = internalQuery({
  args: { userId: v.union(v.string(), v.null()) },
  returns: v.boolean(),
  handler: (ctx, { userId }) => mayActAs(ctx, userId ?? undefined),
});

/** Whether the caller's token is the one of the user whose `userId` they name; nobody's `userId` proves nothing. */
export const provesToBe = internalQuery({
  args: { userId: v.union(v.string(), v.null()) },
  returns: v.boolean(),
  handler: async (ctx, { userId }) => {
    if (userId === null || (await ownerOf(ctx, userId)) === null) return false;
    return mayActAs(ctx, userId);
  },
});

/** The caller's `userId`, for actions. @throws AppError `unauthorized`, `not_found` before their first sign-in. */
export const mine = internalQuery({
  args: {},
  returns: v.string(),
  handler: async (ctx) => (await requireUser(ctx)).userId,
});
