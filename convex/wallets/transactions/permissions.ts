import { v } from "convex/values";
import { internalQuery } from "../../_generated/server";
import { MOST_FEE } from "../../lib/money/base";
import { livePermission } from "../permits";
import { vPermission } from "./tables";

/** What the network may take at most for one transaction under a permission, or under none (a service account's), in wei. */
export const mostFee = internalQuery({
  args: { permissionId: v.optional(v.id("permissions")) },
  returns: v.string(),
  handler: async (ctx, { permissionId }) => {
    const row = permissionId === undefined ? null : await ctx.db.get("permissions", permissionId);
    return row?.mostFee ?? MOST_FEE.toString();
  },
});

/** What the signer reads of a permission that still lets something be signed for the first time. @throws AppError as `livePermission`. */
export const live = internalQuery({
  args: { permissionId: v.id("permissions"), now: v.number() },
  returns: vPermission,
  handler: (ctx, { permissionId, now }) => livePermission(ctx, permissionId, { isFirst: true, now }),
});
