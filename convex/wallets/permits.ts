import type { Doc, Id } from "../_generated/dataModel";
import type { QueryCtx } from "../_generated/server";
import { AppError } from "../lib/errors";
import { FROZEN } from "../lib/security/refusals";
import { rulesOf } from "../users/levels";

/** Whether a permission still lets something be signed. Plain functions; the one rule of whoever opens a key or stores bytes. */

/**
 * @param isFirst What was handed out before may be offered anew after the owner's rules have changed; nothing of it moves
 * twice. While the account is frozen not even that.
 * @throws AppError `paused` while the account is frozen; `forbidden` where the owner's rules are others by now.
 */
export async function livePermission(
  ctx: QueryCtx,
  permissionId: Id<"permissions">,
  { isFirst, now }: { isFirst: boolean; now: number },
): Promise<Doc<"permissions">> {
  const row = await ctx.db.get("permissions", permissionId);
  if (row === null) throw new AppError("internal", "The permission is gone: nothing was signed");
  const { version, isFrozen } = await rulesOf(ctx, row.userId);
  if (isFrozen) throw new AppError("paused", `${FROZEN}: nothing was signed`);
  if (isFirst && version !== row.policyVersion)
    throw new AppError("forbidden", "The owner's rules have changed since: nothing was signed");
  if (isFirst && row.until <= now)
    throw new AppError("upstream", "It took too long to be signed: nothing was moved");
  return row;
}
