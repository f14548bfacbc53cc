import { v } from "convex/values";
import { internalQuery } from "../../_generated/server";
import { livePermission } from "../permits";
import { vPermission } from "./tables";

/** What the signer reads of a permission that still lets something be signed for the first time. @throws AppError as `livePermission`. */
export const live = internalQuery({
  args: { permissionId: v.id("permissions"), now: v.number() },
  returns: vPermission,
  handler: (ctx, { permissionId, now }) => livePermission(ctx, permissionId, { isFirst: true, now }),
});
