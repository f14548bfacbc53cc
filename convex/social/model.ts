import type { Doc } from "../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../_generated/server";

/** At most this many of each per user. */
export const MAX_AUTHORS = 5;
export const MAX_RECIPIENTS = 20;

/** Who an account of the network belongs to, or `null`. */
export async function authorById(ctx: QueryCtx, authorId: string): Promise<Doc<"socialAuthors"> | null> {
  return ctx.db
    .query("socialAuthors")
    .withIndex("by_authorId", (q) => q.eq("authorId", authorId))
    .unique();
}

/** The accounts a user has proved to be theirs, oldest first. */
export async function authorsOf(ctx: QueryCtx, userId: string): Promise<Doc<"socialAuthors">[]> {
  return ctx.db
    .query("socialAuthors")
    .withIndex("by_userId", (q) => q.eq("userId", userId))
    .take(MAX_AUTHORS);
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
  return ctx.db
    .query("socialRecipients")
    .withIndex("by_userId_and_address", (q) => q.eq("userId", userId).eq("address", address))
    .unique();
}

/** Whether a user has linked an account, so that another `userId` cannot take this one's place. */
export async function hasAuthors(ctx: QueryCtx, userId: string): Promise<boolean> {
  return (await authorsOf(ctx, userId)).length > 0;
}

/**
 * Erases some of a user's social data: first the links, so that no mention moves anything any more, then settings and
 * mentions. What was moved on a day stays, as trades do. @returns How many rows went.
 */
export async function eraseSocial(ctx: MutationCtx, userId: string, limit: number): Promise<number> {
  const authors = await authorsOf(ctx, userId);
  for (const { _id } of authors) await ctx.db.delete("socialAuthors", _id);
  const recipients = await recipientsOf(ctx, userId);
  for (const { _id } of recipients) await ctx.db.delete("socialRecipients", _id);
  const proofs = await ctx.db
    .query("socialProofs")
    .withIndex("by_userId", (q) => q.eq("userId", userId))
    .take(limit);
  for (const { _id } of proofs) await ctx.db.delete("socialProofs", _id);
  const settings = await ctx.db
    .query("socialLimits")
    .withIndex("by_userId", (q) => q.eq("userId", userId))
    .take(limit);
  for (const { _id } of settings) await ctx.db.delete("socialLimits", _id);
  const mentions = await ctx.db
    .query("mentions")
    .withIndex("by_userId", (q) => q.eq("userId", userId))
    .take(limit);
  for (const { _id } of mentions) await ctx.db.delete("mentions", _id);
  return authors.length + recipients.length + proofs.length + settings.length + mentions.length;
}
