import { v } from "convex/values";
import { getOneFrom } from "convex-helpers/server/relationships";
import type { Doc } from "../_generated/dataModel";
import { type QueryCtx } from "../_generated/server";
import { change } from "../lib/changes";
import { AppError } from "../lib/errors";
import { HOUR } from "../lib/time";

/** Keys that owners give to programs: their scopes, and their last use. */

/** The precision of a key's last use. */
const USE_NOTED_MS = HOUR;

/** A valid key. @throws AppError `unauthorized` for one that is unknown, revoked or expired. */
async function goodKey(ctx: QueryCtx, keyHash: string, now: number): Promise<Doc<"apiKeys">> {
  const row = await getOneFrom(ctx.db, "apiKeys", "by_keyHash", keyHash);
  if (row === null || row.revokedAt !== undefined || (row.expiresAt ?? Infinity) <= now)
    throw new AppError("unauthorized", "This key is not valid: it was revoked, has expired or is unknown");
  return row;
}

/** The key of a request about a user. @throws AppError as `goodKey`; `forbidden` for another user's. */
export async function keyOf(
  ctx: QueryCtx,
  userId: string,
  keyHash: string,
  now: number,
): Promise<Doc<"apiKeys">> {
  const row = await goodKey(ctx, keyHash, now);
  if (row.userId !== userId) throw new AppError("forbidden", "This key belongs to another user");
  return row;
}

/** Records that a key is in use. */
export const touch = change({ keyHash: v.string() }, async (ctx, { keyHash }) => {
  const row = await getOneFrom(ctx.db, "apiKeys", "by_keyHash", keyHash);
  const now = Date.now();
  if (row !== null && (row.lastUsedAt ?? 0) <= now - USE_NOTED_MS)
    await ctx.db.patch("apiKeys", row._id, { lastUsedAt: now });
});
