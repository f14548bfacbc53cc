import { v } from "convex/values";
import { getOneFrom } from "convex-helpers/server/relationships";
import { internalMutation, type MutationCtx } from "../_generated/server";
import { isSet } from "../lib/env";
import { hasLeft } from "../lib/limits/charges";
import { codeHash } from "../messenger/codes";
import { codeByHash, userOfAccount } from "../messenger/model";
import { notice } from "./cards";
import { openJob, sendAnswer } from "./model";
import { carriedIn } from "./commands/webApp";
import { parseCommand, parseMention, showsCode, type ParsedCommand } from "./commands/grammar";
import { respond } from "./responses";
import { vSender, vTapped } from "./tables";

/** Accepts one message to the bot, once, and answers it, all in one transaction. */
export const receive = internalMutation({
  args: {
    updateId: v.number(),
    sender: vSender,
    text: v.string(),
    /** Forwarded words of somebody else. */
    forwarded: v.boolean(),
    /** The message with the button, if a button sent it. */
    tapped: v.optional(vTapped),
  },
  returns: v.null(),
  handler: async (ctx, { updateId, sender, text, forwarded, tapped }) => {
    const known = await getOneFrom(ctx.db, "botUpdates", "by_updateId", updateId);
    if (known !== null) return null;
    await ctx.db.insert("botUpdates", { updateId, receivedAt: Date.now() });
    const command = parseCommand(text);
    const mention = sender.alone || command !== null ? null : parseMention(text);
    const to = command?.to ?? mention?.to ?? null;
    if (!sender.alone && command !== null) await withdrawShownCode(ctx, command);
    // In a group, only messages that name a bot, and this bot's own buttons, can be meant for it.
    if (!sender.alone && to === null && tapped === undefined) return null;
    const chat = `chat:${sender.chatId}`;
    if (!(await hasLeft(ctx, "botChat", chat))) {
      // A flood is answered once, in a chat of its own.
      if (sender.alone && (await hasLeft(ctx, "botNotice", chat))) {
        const userId = await userOfAccount(ctx, sender.messengerId);
        await sendAnswer(
          ctx,
          sender,
          userId,
          notice("That was a lot at once. Give me a minute, then ask again."),
        );
      }
      return null;
    }
    if (sender.alone || to === null) await respond(ctx, sender, text, { forwarded, tapped });
    else await openJob(ctx, sender, null, { kind: "addressed", to, text: mention?.words ?? text });
    return null;
  },
});

/** A code that a whole group has read is invalidated, no matter which bot it was meant for. */
async function withdrawShownCode(ctx: MutationCtx, command: ParsedCommand): Promise<void> {
  // Without a key no code is valid.
  if (!showsCode(command) || !isSet("WALLET_ENCRYPTION_KEY")) return;
  const shown = await codeByHash(ctx, "link", codeHash(carriedIn(command.argument).code));
  if (shown !== null) await ctx.db.delete("codes", shown._id);
}
