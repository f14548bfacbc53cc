import { getOneFrom } from "convex-helpers/server/relationships";
import type { Doc } from "../_generated/dataModel";
import type { QueryCtx } from "../_generated/server";
import { rowsBy } from "../lib/records/rows";

/** The most accounts per user. */
export const MAX_AUTHORS = 5;

/** The linked author of an account of the network, or `null`. */
export async function authorById(ctx: QueryCtx, authorId: string): Promise<Doc<"socialAuthors"> | null> {
  return getOneFrom(ctx.db, "socialAuthors", "by_authorId", authorId);
}

/** The accounts that a user has proved, oldest first. */
export async function authorsOf(ctx: QueryCtx, userId: string): Promise<Doc<"socialAuthors">[]> {
  return rowsBy(ctx.db.query("socialAuthors"), "userId", userId).take(MAX_AUTHORS);
}
