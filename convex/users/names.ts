import { getOneFrom } from "convex-helpers/server/relationships";
import type { Doc } from "../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../_generated/server";
import { rowsByBoth } from "../lib/records/rows";
import { newUserId } from "./model";

/**
 * The id by which callers name an account. All rows keep the one that it began with; its owner puts another in its place where
 * that one has leaked, and from then on whoever names the old one names nobody. Plain functions.
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

/** Puts a new id in the place of the one that an account goes by. */
export async function replaceName(ctx: MutationCtx, userId: string): Promise<Doc<"userNames">> {
  const before = await presentOf(ctx, userId);
  if (before !== null) await ctx.db.patch("userNames", before._id, { replacedAt: Date.now() });
  const id = await ctx.db.insert("userNames", { userId, name: newUserId() });
  const row = await ctx.db.get("userNames", id);
  if (row === null) throw new Error("What was inserted is there");
  return row;
}

function presentOf(ctx: QueryCtx, userId: string): Promise<Doc<"userNames"> | null> {
  return rowsByBoth(ctx.db.query("userNames"), "userId", userId, "replacedAt", undefined).unique();
}
