import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { isGuessable } from "../lib/ids";
import { iso } from "../lib/time";

/**
 * What every answer to a `userId` tells besides its own: that a claim of it waits. Only ids that could be guessed have such
 * claims, so all others cost nothing.
 */
export async function claimNotice(
  ctx: ActionCtx,
  userId: string,
): Promise<{ claimPending?: string; claimContest?: "code" | "operator" }> {
  if (!isGuessable(userId)) return {};
  const claim = await ctx.runQuery(internal.account.pendingClaims.pending, { userId });
  if (claim === null) return {};
  return { claimPending: iso(claim.dueAt), claimContest: claim.told ? "code" : "operator" };
}
