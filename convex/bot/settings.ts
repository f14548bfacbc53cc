import { v } from "convex/values";
import { internalQuery } from "../_generated/server";
import { AppError } from "../lib/errors";
import { approvingLink } from "../messenger/model";
import { verdictNow } from "../users/access";

/**
 * Whether a user's owner has to be asked before their messenger settings change.
 * @throws AppError `unauthorized`, `forbidden` where it is refused, or nobody can be asked.
 */
export const asks = internalQuery({
  args: { userId: v.string(), keyHash: v.optional(v.string()), now: v.number() },
  returns: v.boolean(),
  handler: async (ctx, { userId, keyHash, now }) => {
    const verdict = await verdictNow(ctx, userId, "delivery", now, keyHash);
    if (verdict.kind === "allowed") return false;
    if (verdict.kind === "asks" && (await approvingLink(ctx, userId, now)) !== null) return true;
    throw new AppError(verdict.code, verdict.message);
  },
});
