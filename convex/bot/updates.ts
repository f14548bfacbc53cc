import { v } from "convex/values";
import { internalMutation } from "../_generated/server";
import { chatHasLeft } from "../lib/limits";
import { notice } from "./cards";
import { openJob, sendAnswer, userOf } from "./model";
import { parseCommand } from "./parsing";
import { respond } from "./responses";
import { vSender } from "./tables";

/** Takes one message to the bot, once, and answers it: all in one transaction. */
export const receive = internalMutation({
  args: { updateId: v.number(), sender: vSender, text: v.string() },
  returns: v.null(),
  handler: async (ctx, { updateId, sender, text }) => {
    const known = await ctx.db
      .query("botUpdates")
      .withIndex("by_updateId", (q) => q.eq("updateId", updateId))
      .unique();
    if (known !== null) return null;
    await ctx.db.insert("botUpdates", { updateId, receivedAt: Date.now() });
    const to = parseCommand(text)?.to ?? null;
    // In a group only what names a bot can be meant for this one.
    if (!sender.alone && to === null) return null;
    if (!(await chatHasLeft(ctx, "botChat", sender.chatId))) {
      // A flood is answered once, in a chat of its own.
      if (sender.alone && (await chatHasLeft(ctx, "botNotice", sender.chatId))) {
        const userId = await userOf(ctx, sender);
        await sendAnswer(
          ctx,
          sender,
          userId,
          notice("That was a lot at once. Give me a minute, then ask again."),
        );
      }
      return null;
    }
    if (sender.alone || to === null) await respond(ctx, sender, text);
    else await openJob(ctx, sender, null, { kind: "addressed", to, text });
    return null;
  },
});
