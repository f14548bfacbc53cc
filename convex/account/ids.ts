import { v } from "convex/values";
import { internalMutation } from "../_generated/server";
import { recordAudit } from "../lib/records/audit";
import { tellEverywhere } from "../messenger/notices";
import { FREEZE } from "../messenger/owners";
import { changeRules } from "../users/levels";
import { replaceName } from "../users/names";

/** Replacing a `userId` that has leaked: signed in it is `users/access:replaceUserId`, in the bot `/newid`. */

/** Whoever calls it has made sure that it is the owner who asks. @returns The new one. */
export const replace = internalMutation({
  args: { userId: v.string() },
  returns: v.object({ userId: v.string() }),
  handler: async (ctx, { userId }) => {
    const { _id: subject, name } = await replaceName(ctx, userId);
    // Whoever knows the old one has asked for what waits.
    await changeRules(ctx, userId);
    await recordAudit(ctx, { actor: userId, action: "userId replaced", subject });
    await tellEverywhere(ctx, {
      ...{ userId, kind: "level", buttons: FREEZE },
      paragraphs: [
        [{ bold: "🔁 Your account has a new userId" }],
        [
          "The old one is nobody's from now on. Programs and assistants that use it need the new one, which you see signed in; your keys go on.",
        ],
        ["If that was not you, freeze your account."],
      ],
    });
    return { userId: name };
  },
});
