import { v } from "convex/values";
import { internal } from "../_generated/api";
import type { TableNames } from "../_generated/dataModel";
import { action, internalMutation, type QueryCtx } from "../_generated/server";
import { requireIdentity } from "../lib/auth";
import { AppError } from "../lib/errors";
import { userId as userIdShape } from "../lib/input";
import { charge } from "../lib/limits";
import { tablesOf, type Facts } from "../lib/records";
import { records } from "../schema";
import { findUser, ownerOf } from "../users/model";

/**
 * Makes a `userId` that the caller already uses over HTTP their own: whoever knows it may, once, first come. From then on
 * its funds move with the caller's token alone. The id made at sign-in is given up for it, so nothing may hang on that.
 * @throws AppError `invalid_request` for what is no userId; `conflict` when it is another user's, when the caller has
 * claimed another, or when their present account is in use; `rate_limited`.
 */
export const claimUserId = action({
  args: { userId: v.string() },
  returns: v.object({ userId: v.string() }),
  handler: async (ctx, args): Promise<{ userId: string }> => {
    const { tokenIdentifier } = await requireIdentity(ctx);
    // Counted in a transaction of its own: a refused claim, which may be a guess, counts too.
    await charge(ctx, "claim", { userId: tokenIdentifier, address: null });
    return ctx.runMutation(internal.account.claims.claim, args);
  },
});

/** The claim itself: one transaction decides who comes first. */
export const claim = internalMutation({
  args: { userId: v.string() },
  returns: v.object({ userId: v.string() }),
  handler: async (ctx, args) => {
    const { tokenIdentifier } = await requireIdentity(ctx);
    const parsed = userIdShape.safeParse(args.userId);
    if (!parsed.success) {
      throw new AppError("invalid_request", `userId ${parsed.error.issues[0]?.message ?? "is malformed"}`);
    }
    const userId = parsed.data;
    const user = await findUser(ctx);
    if (user?.userId === userId) {
      await ctx.db.patch("users", user._id, { claimed: true });
      return { userId };
    }
    if (user?.claimed === true)
      throw new AppError("conflict", "This user has already claimed another userId");
    if ((await ownerOf(ctx, userId)) !== null) {
      throw new AppError("conflict", "This userId belongs to another signed-in user");
    }
    if (user === null) {
      await ctx.db.insert("users", { tokenIdentifier, userId, claimed: true, createdAt: Date.now() });
      return { userId };
    }
    if (await isInUse(ctx, user.userId)) {
      throw new AppError(
        "conflict",
        "This account already has credits, wallets, research, links, alerts or settings of its own",
      );
    }
    await ctx.db.patch("users", user._id, { userId, claimed: true });
    return { userId };
  },
});

/** Whether anything hangs on the `userId` that a claim would leave behind. */
export async function isInUse(ctx: QueryCtx, userId: string): Promise<boolean> {
  for (const table of tablesOf(records)) if (await hasRowInUse(ctx, table, userId)) return true;
  return false;
}

async function hasRowInUse<Table extends TableNames>(
  ctx: QueryCtx,
  table: Table,
  userId: string,
): Promise<boolean> {
  const { ownedBy }: Facts<Table> = records[table];
  if (ownedBy?.inUse === undefined) return false;
  const rows = ownedBy.inUse === "any" ? ownedBy.rows : ownedBy.inUse;
  return (await rows(ctx.db.query(table), userId).first()) !== null;
}
