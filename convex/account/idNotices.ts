import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { isGuessable } from "../lib/records/ids";
import type { Caller } from "../lib/limits/callers";
import { iso } from "../lib/time";
import type { Level } from "../users/levels";

/**
 * What every answer to a `userId` tells besides its own: that it has an owner, so that nobody who only guessed it pays money
 * in, or that a claim of it waits. Only ids that could be guessed have such claims: all other ids of nobody cost nothing.
 */
export async function idNotice(
  ctx: ActionCtx,
  { userId, credential }: Caller,
): Promise<{ owner?: { level: Level }; claimPending?: string; claimContest?: "code" | "operator" }> {
  if (userId === undefined) return {};
  if (credential === "id" || credential === "owner" || credential === "key") {
    return { owner: { level: await ctx.runQuery(internal.users.access.level, { userId, now: Date.now() }) } };
  }
  if (!isGuessable(userId)) return {};
  const claim = await ctx.runQuery(internal.account.pendingClaims.pending, { userId });
  if (claim === null) return {};
  return { claimPending: iso(claim.dueAt), claimContest: claim.told ? "code" : "operator" };
}
