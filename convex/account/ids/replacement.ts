import { v } from "convex/values";
import type { Doc } from "../../_generated/dataModel";
import { internalMutation, type MutationCtx } from "../../_generated/server";
import { charge } from "../../lib/limits/charges";
import { recordAudit } from "../../lib/records/audit";
import { tellEverywhere } from "../../messenger/notices";
import { FREEZE } from "../../messenger/owners";
import { changeRules } from "../../users/levels";
import { newUserId } from "../../users/model";
import { presentOf } from "../../users/names";

/** Replacing a `userId` that has leaked: signed in (`users/access:replaceUserId`), or in the bot by `/newid`. */

/** Callers have verified that the owner asks. @returns The new id. @throws AppError `rate_limited` */
export const replace = internalMutation({
  args: { userId: v.string() },
  returns: v.object({ userId: v.string() }),
  handler: async (ctx, { userId }) => {
    await charge(ctx, "settings", { userId, address: null });
    const { _id: subject, name } = await replaceName(ctx, userId);
    // Whoever knows the old id may have asked the questions that are pending.
    await changeRules(ctx, userId);
    await recordAudit(ctx, { actor: userId, action: "userId replaced", subject });
    await tellEverywhere(ctx, {
      ...{ userId, kind: "level", buttons: FREEZE },
      paragraphs: [
        [{ bold: "🔁 Your account has a new id" }],
        [
          "The old one belongs to nobody from now on. Programs and assistants that use it need the new one, which is shown where it was replaced; your keys stay valid.",
        ],
        ["If that was not you, freeze your account."],
      ],
    });
    return { userId: name };
  },
});

/** Replaces the current id of an account by a new one. */
async function replaceName(ctx: MutationCtx, userId: string): Promise<Doc<"userNames">> {
  const before = await presentOf(ctx, userId);
  if (before !== null) await ctx.db.patch("userNames", before._id, { replacedAt: Date.now() });
  const id = await ctx.db.insert("userNames", { userId, name: newUserId() });
  const row = await ctx.db.get("userNames", id);
  if (row === null) throw new Error("The row that was just inserted is missing");
  return row;
}
