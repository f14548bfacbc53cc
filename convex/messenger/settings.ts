import { v } from "convex/values";
import { internalMutation } from "../_generated/server";
import { configOf } from "./model";

/** A field's new value; `null` clears it, leaving it out keeps it. */
const vChange = v.optional(v.union(v.string(), v.null()));

/** Stores what a user set; the bot token comes sealed. */
export const save = internalMutation({
  args: { userId: v.string(), sealedBotToken: vChange, chatId: vChange },
  returns: v.null(),
  handler: async (ctx, { userId, sealedBotToken, chatId }) => {
    const row = await configOf(ctx, userId);
    const token = changed(row?.sealedBotToken, sealedBotToken);
    const chat = changed(row?.chatId, chatId);
    const config = {
      userId,
      ...(token === undefined ? {} : { sealedBotToken: token }),
      ...(chat === undefined ? {} : { chatId: chat }),
      updatedAt: Date.now(),
    };
    if (row === null) await ctx.db.insert("messengerConfigs", config);
    else await ctx.db.replace("messengerConfigs", row._id, config);
    return null;
  },
});

function changed(before: string | undefined, change: string | null | undefined): string | undefined {
  if (change === undefined) return before;
  return change ?? undefined;
}
