import type { Doc } from "../../_generated/dataModel";
import type { QueryCtx } from "../../_generated/server";
import { rowsByBoth } from "../../lib/records/rows";

/** Claims that wait, as rows. Every request that names an id asks for one: this imports next to nothing. */

/** The claim of a `userId` that waits, or `null`. */
export async function openClaimOf(ctx: QueryCtx, userId: string): Promise<Doc<"pendingClaims"> | null> {
  return rowsByBoth(ctx.db.query("pendingClaims"), "userId", userId, "state", "open").unique();
}

/** The claim of a login that waits, or `null`. */
export async function openClaimBy(
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
