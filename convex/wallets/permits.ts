import type { Doc, Id } from "../_generated/dataModel";
import type { QueryCtx } from "../_generated/server";
import { AppError } from "../lib/errors";
import { FROZEN } from "../lib/security/refusals";
import { rulesOf } from "../users/levels";

/** Whether a permission is still valid. Plain functions; the one rule for opening a key and for storing bytes. */

/** What a transaction is signed under; only a service account's has none. @throws AppError `internal` */
export function permissionOf({ permissionId }: Pick<Doc<"transactions">, "permissionId">): Id<"permissions"> {
  if (permissionId === undefined) throw new AppError("internal", "Nothing is signed without a permission");
  return permissionId;
}

/**
 * @param isFirst Bytes that were sent before may be replaced even after the owner's rules have changed, since nothing
 * moves twice; but not while the account is frozen.
 * @throws AppError `paused` while the account is frozen; `forbidden` if the owner's rules have changed.
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
  if (isFirst && row.until <= now) throw new AppError("upstream", "Signing took too long: nothing was moved");
  return row;
}
