import { v } from "convex/values";
import { internalQuery } from "../../_generated/server";
import { MOST_FEE } from "../../lib/money/base";
import { livePermission } from "../permits";
import { vPermission } from "./tables";

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
