import { getOneFrom } from "convex-helpers/server/relationships";
import type { Doc } from "../_generated/dataModel";
import type { QueryCtx } from "../_generated/server";
import { rowsBy, rowsByBoth } from "../lib/records/rows";

/** At most this many of each per user. */
export const MAX_AUTHORS = 5;
export const MAX_RECIPIENTS = 20;

/** Who an account of the network belongs to, or `null`. */
export async function authorById(ctx: QueryCtx, authorId: string): Promise<Doc<"socialAuthors"> | null> {
  return getOneFrom(ctx.db, "socialAuthors", "by_authorId", authorId);
}

/** The accounts a user has proved to be theirs, oldest first. */
export async function authorsOf(ctx: QueryCtx, userId: string): Promise<Doc<"socialAuthors">[]> {
  return rowsBy(ctx.db.query("socialAuthors"), "userId", userId).take(MAX_AUTHORS);
}

/** Where a user's mentions may send to, sorted by address. */
export async function recipientsOf(ctx: QueryCtx, userId: string): Promise<Doc<"socialRecipients">[]> {
  return ctx.db
    .query("socialRecipients")
    .withIndex("by_userId_and_address", (q) => q.eq("userId", userId))
    .take(MAX_RECIPIENTS);
}

/** @param address Checksummed. */
export async function recipientOf(
  ctx: QueryCtx,
  userId: string,
  address: string,
): Promise<Doc<"socialRecipients"> | null> {
  return rowsByBoth(ctx.db.query("socialRecipients"), "userId", userId, "address", address).unique();
}
