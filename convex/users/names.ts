import { v } from "convex/values";
import { getOneFrom } from "convex-helpers/server/relationships";
import type { Doc } from "../_generated/dataModel";
import { internal } from "../_generated/api";
import { internalQuery, type ActionCtx, type QueryCtx } from "../_generated/server";
import { AppError } from "../lib/errors";
import { rowsByBoth } from "../lib/records/rows";

/**
 * The id by which callers name an account. All rows keep the one that it began with; its owner puts another in its place where
 * that one has leaked, and from then on whoever names the old one names nobody. Every request asks for it: this imports next to nothing.
 */

/** The account that goes by a `userId`; `null` where its owner has put another id in its place. */
export async function accountNamed(ctx: QueryCtx, name: string): Promise<string | null> {
  const row = await getOneFrom(ctx.db, "userNames", "by_name", name);
  if (row !== null) return row.replacedAt === undefined ? row.userId : null;
  return (await presentOf(ctx, name)) === null ? name : null;
}

/** What an account goes by. */
export async function nameOf(ctx: QueryCtx, userId: string): Promise<string> {
  return (await presentOf(ctx, userId))?.name ?? userId;
}

/**
 * The account that goes by the `userId` of a request, for whatever is asked of it. For actions.
 * @throws AppError `not_found` for one in whose place its owner has put another.
 */
export async function accountOf(ctx: ActionCtx, name: string): Promise<string> {
  const userId: string | null = await ctx.runQuery(internal.users.names.account, { name });
  if (userId === null)
    throw new AppError("not_found", "There is no such userId: its owner has put another in its place");
  return userId;
}

export const account = internalQuery({
  args: { name: v.string() },
  returns: v.union(v.string(), v.null()),
  handler: (ctx, { name }) => accountNamed(ctx, name),
});

/** The row of the id that an account goes by; `null` for the one that it began with. */
export function presentOf(ctx: QueryCtx, userId: string): Promise<Doc<"userNames"> | null> {
  return rowsByBoth(ctx.db.query("userNames"), "userId", userId, "replacedAt", undefined).unique();
}
