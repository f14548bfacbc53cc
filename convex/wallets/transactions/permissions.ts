import { v } from "convex/values";
import type { Doc, Id } from "../../_generated/dataModel";
import { internalQuery, type MutationCtx, type QueryCtx } from "../../_generated/server";
import { MOST_FEE } from "../../lib/money/base";
import { liveRules } from "../../users/levels";
import { livePermission, permissionOf } from "../permits";
import { SIGNED_WITHIN_MS } from "./states";
import { vPermission } from "./tables";

/** Permissions to sign: one for each order, or for a free nonce. */

/** Stores what may be signed, under the owner's current rules. @throws AppError `paused` while the account is frozen. */
export async function allow(
  ctx: MutationCtx,
  {
    minBuyAmount,
    mostFee = MOST_FEE.toString(),
    ...asked
  }: Pick<Doc<"permissions">, "walletId" | "userId" | "by" | "request"> & {
    minBuyAmount?: string | undefined;
    mostFee?: string | undefined;
  },
): Promise<Id<"permissions">> {
  const { version: policyVersion } = await liveRules(ctx, asked.userId);
  return ctx.db.insert("permissions", {
    ...asked,
    ...(minBuyAmount === undefined ? {} : { minBuyAmount }),
    mostFee,
    policyVersion,
    until: Date.now() + SIGNED_WITHIN_MS,
  });
}

/**
 * Checks the permission again in the transaction that releases signed bytes: nothing leaves if the account was frozen
 * or changed since the signature.
 * @throws AppError as `livePermission`.
 */
export async function requireLive(
  ctx: QueryCtx,
  row: Pick<Doc<"transactions">, "permissionId">,
): Promise<Id<"permissions">> {
  const permissionId = permissionOf(row);
  await livePermission(ctx, permissionId, { isFirst: true, now: Date.now() });
  return permissionId;
}

/** The most that the network may take for one transaction under a permission, or without one (a service account's), in wei. */
export const mostFee = internalQuery({
  args: { permissionId: v.optional(v.id("permissions")) },
  returns: v.string(),
  handler: async (ctx, { permissionId }) => {
    const row = permissionId === undefined ? null : await ctx.db.get("permissions", permissionId);
    return row?.mostFee ?? MOST_FEE.toString();
  },
});

/** A permission for the signer, if it is still valid for a first signature. @throws AppError as `livePermission`. */
export const live = internalQuery({
  args: { permissionId: v.id("permissions"), now: v.number() },
  returns: vPermission,
  handler: (ctx, { permissionId, now }) => livePermission(ctx, permissionId, { isFirst: true, now }),
});
