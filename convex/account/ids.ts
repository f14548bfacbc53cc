import { v } from "convex/values";
import type { Doc } from "../_generated/dataModel";
import { internalMutation, mutation, type MutationCtx } from "../_generated/server";
import { charge } from "../lib/limits/charges";
import { recordAudit } from "../lib/records/audit";
import { tellEverywhere } from "../messenger/notices";
import { FREEZE } from "../messenger/owners";
import { changeRules } from "../users/levels";
import { newUserId, requireUser } from "../users/model";
import { presentOf } from "../users/names";

/** Replacing a `userId` that has leaked: signed in, or in the bot by `/newid`. */

/**
 * Puts a new `userId` in the place of the caller's, for one that has leaked. From then on the old one is nobody's, for good:
 * whatever names it is 404. Everything that the account has stays, its keys too; what waits for the owner's approval is void.
 * @throws AppError `unauthorized`, `not_found` before their first sign-in, `rate_limited`.
 */
export const replaceUserId = mutation({
  args: {},
  returns: v.object({ userId: v.string() }),
  handler: async (ctx) => {
    const { userId } = await requireUser(ctx);
    await charge(ctx, "settings", { userId, address: null });
    return replaceId(ctx, userId);
  },
});

/** Whoever calls it has made sure that it is the owner who asks. @returns The new one. */
export const replace = internalMutation({
  args: { userId: v.string() },
  returns: v.object({ userId: v.string() }),
  handler: (ctx, { userId }) => replaceId(ctx, userId),
});

async function replaceId(ctx: MutationCtx, userId: string): Promise<{ userId: string }> {
  const { _id: subject, name } = await replaceName(ctx, userId);
  // Whoever knows the old one has asked for what waits.
  await changeRules(ctx, userId);
  await recordAudit(ctx, { actor: userId, action: "userId replaced", subject });
  await tellEverywhere(ctx, {
    ...{ userId, kind: "level", buttons: FREEZE },
    paragraphs: [
      [{ bold: "🔁 Your account has a new id" }],
      [
        "The old one is nobody's from now on. Programs and assistants that use it need the new one, which you see signed in; your keys go on.",
      ],
      ["If that was not you, freeze your account."],
    ],
  });
  return { userId: name };
}

/** Puts a new id in the place of the one that an account goes by. */
async function replaceName(ctx: MutationCtx, userId: string): Promise<Doc<"userNames">> {
  const before = await presentOf(ctx, userId);
  if (before !== null) await ctx.db.patch("userNames", before._id, { replacedAt: Date.now() });
  const id = await ctx.db.insert("userNames", { userId, name: newUserId() });
  const row = await ctx.db.get("userNames", id);
  if (row === null) throw new Error("The row that was just inserted is missing");
  return row;
}
