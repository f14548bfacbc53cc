import { v } from "convex/values";
import { internal } from "../_generated/api";
import { internalAction, internalMutation, internalQuery } from "../_generated/server";
import { messageOf } from "../lib/errors";
import { log } from "../lib/log";
import { currentKeyId, keyIdOf, reseal } from "../lib/sealing";
import { configOf } from "./model";
import { botTokenSeal } from "./seals";

/** Bot tokens per transaction of a rotation. */
const BATCH = 50;

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
      ...(token === undefined ? {} : { sealedBotToken: token, keyId: keyIdOf(token) }),
      ...(chat === undefined ? {} : { chatId: chat }),
      updatedAt: Date.now(),
    };
    if (row === null) await ctx.db.insert("messengerConfigs", config);
    else await ctx.db.replace("messengerConfigs", row._id, config);
    return null;
  },
});

/**
 * Seals every bot token anew that is not under the current `WALLET_ENCRYPTION_KEY`; run it with the rotation of the
 * wallets' keys (`wallets/custody/keys:rotate`). Safe to run twice, and to resume after a crash.
 * @returns How many tokens were sealed anew, and the users whose envelope does not open: those stay as they are.
 */
export const rotate = internalAction({
  args: {},
  returns: v.object({ rotated: v.number(), failed: v.array(v.string()) }),
  handler: async (ctx): Promise<{ rotated: number; failed: string[] }> => {
    const keyId = currentKeyId();
    const failed: string[] = [];
    for (let rotated = 0; ;) {
      const limit = BATCH + failed.length;
      const batch = await ctx.runQuery(internal.messenger.settings.outdated, { keyId, limit });
      const open = batch.filter(({ userId }) => !failed.includes(userId));
      if (open.length === 0) return { rotated, failed };
      for (const { userId, sealedBotToken } of open) {
        try {
          const to = await reseal(sealedBotToken, botTokenSeal(userId));
          const from = sealedBotToken;
          await ctx.runMutation(internal.messenger.settings.replaceToken, { userId, from, to });
          rotated++;
        } catch (error) {
          log.error("messenger.rotation failed", { message: messageOf(error) });
          failed.push(userId);
        }
      }
    }
  },
});

/** Bot tokens sealed under another master key than the named one. */
export const outdated = internalQuery({
  args: { keyId: v.string(), limit: v.number() },
  returns: v.array(v.object({ userId: v.string(), sealedBotToken: v.string() })),
  handler: async (ctx, { keyId, limit }) => {
    const before = await ctx.db
      .query("messengerConfigs")
      .withIndex("by_keyId", (q) => q.gt("keyId", "").lt("keyId", keyId))
      .take(limit);
    const after = await ctx.db
      .query("messengerConfigs")
      .withIndex("by_keyId", (q) => q.gt("keyId", keyId))
      .take(limit - before.length);
    return [...before, ...after].flatMap(({ userId, sealedBotToken }) =>
      sealedBotToken === undefined ? [] : [{ userId, sealedBotToken }],
    );
  },
});

/** Puts a re-sealed token in place of what it was made from; one that changed meanwhile stays. */
export const replaceToken = internalMutation({
  args: { userId: v.string(), from: v.string(), to: v.string() },
  returns: v.null(),
  handler: async (ctx, { userId, from, to }) => {
    const row = await configOf(ctx, userId);
    if (row?.sealedBotToken === from) {
      await ctx.db.patch("messengerConfigs", row._id, { sealedBotToken: to, keyId: keyIdOf(to) });
    }
    return null;
  },
});

function changed(before: string | undefined, change: string | null | undefined): string | undefined {
  if (change === undefined) return before;
  return change ?? undefined;
}
