import type { Doc } from "../../_generated/dataModel";
import type { QueryCtx } from "../../_generated/server";
import { rowsByBoth } from "../../lib/records/rows";

/** Rows of pending claims. Every request that names an id loads this file, so it imports next to nothing. */

/** The pending claim of a `userId`, or `null`. */
export async function pendingClaimOf(ctx: QueryCtx, userId: string): Promise<Doc<"pendingClaims"> | null> {
  return rowsByBoth(ctx.db.query("pendingClaims"), "userId", userId, "state", "open").unique();
}

/** The pending claim by a login, or `null`. */
export async function pendingClaimBy(
  ctx: QueryCtx,
  tokenIdentifier: string,
): Promise<Doc<"pendingClaims"> | null> {
  return rowsByBoth(
    ctx.db.query("pendingClaims"),
    "tokenIdentifier",
    tokenIdentifier,
    "state",
    "open",
  ).first();
}
