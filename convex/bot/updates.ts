import { v } from "convex/values";
import { internal } from "../_generated/api";
import { internalMutation, type MutationCtx } from "../_generated/server";
import { isSet } from "../lib/env";
import { chatHasLeft } from "../lib/limits";
import { DAY } from "../lib/time";
import { codeHash } from "../messenger/codes";
import { codeByHash, forgetOwnerless } from "../messenger/model";
import { notice } from "./cards";
import { openJob, sendAnswer, userOf } from "./model";
import { parseCommand, type ParsedCommand } from "./parsing";
import { respond } from "./responses";
import { vSender } from "./tables";

const UPDATES_KEPT_MS = 2 * DAY;
const ANSWERS_KEPT_MS = 7 * DAY;
const BATCH = 200;

/** Takes one message to the bot, once, and answers it: all in one transaction. */
export const receive = internalMutation({
  args: {
    updateId: v.number(),
    sender: vSender,
    text: v.string(),
    /** Somebody else's words, passed on. */
    forwarded: v.boolean(),
  },
  returns: v.null(),
  handler: async (ctx, { updateId, sender, text, forwarded }) => {
    const known = await ctx.db
      .query("botUpdates")
      .withIndex("by_updateId", (q) => q.eq("updateId", updateId))
      .unique();
    if (known !== null) return null;
    await ctx.db.insert("botUpdates", { updateId, receivedAt: Date.now() });
    const command = parseCommand(text);
    const to = command?.to ?? null;
    if (!sender.alone && command !== null) await withdrawShownCode(ctx, command);
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
    if (sender.alone || to === null) await respond(ctx, sender, text, { forwarded });
    else await openJob(ctx, sender, null, { kind: "addressed", to, text });
    return null;
  },
});

/** A code that a whole group has read is worth nothing any more, whichever bot it was meant for. */
async function withdrawShownCode(ctx: MutationCtx, { name, argument }: ParsedCommand): Promise<void> {
  // Without a key no code is good.
  if (!["connect", "start"].includes(name) || argument === "" || !isSet("WALLET_ENCRYPTION_KEY")) return;
  const shown = await codeByHash(ctx, codeHash(argument));
  if (shown !== null) await ctx.db.delete("linkCodes", shown._id);
}

/** Forgets updates that are not repeated any more, and answers to people who are not linked. For the cron. */
export const forgetOld = internalMutation({
  args: {},
  returns: v.null(),
  handler: async (ctx) => {
    const now = Date.now();
    const old = await ctx.db
      .query("botUpdates")
      .withIndex("by_receivedAt", (q) => q.lt("receivedAt", now - UPDATES_KEPT_MS))
      .take(BATCH);
    for (const { _id } of old) await ctx.db.delete("botUpdates", _id);
    const forgotten = await forgetOwnerless(ctx, now - ANSWERS_KEPT_MS, BATCH);
    if (old.length === BATCH || forgotten === BATCH) {
      await ctx.scheduler.runAfter(0, internal.bot.updates.forgetOld, {});
    }
    return null;
  },
});
