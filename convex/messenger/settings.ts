import { v } from "convex/values";
import { internal } from "../_generated/api";
import { internalAction, internalMutation, internalQuery } from "../_generated/server";
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
 */
export const rotate = internalAction({
  args: {},
  returns: v.object({ rotated: v.number() }),
  handler: async (ctx): Promise<{ rotated: number }> => {
    const keyId = currentKeyId();
    for (let rotated = 0; ;) {
      const batch = await ctx.runQuery(internal.messenger.settings.outdated, { keyId });
      if (batch.length === 0) return { rotated };
      for (const { userId, sealedBotToken } of batch) {
        const to = await reseal(sealedBotToken, botTokenSeal(userId));
        await ctx.runMutation(internal.messenger.settings.replaceToken, { userId, from: sealedBotToken, to });
        rotated++;
      }
    }
  },
});

/** Bot tokens sealed under another master key than the named one. */
export const outdated = internalQuery({
  args: { keyId: v.string() },
  returns: v.array(v.object({ userId: v.string(), sealedBotToken: v.string() })),
  handler: async (ctx, { keyId }) => {
    const before = await ctx.db
      .query("messengerConfigs")
      .withIndex("by_keyId", (q) => q.gt("keyId", "").lt("keyId", keyId))
      .take(BATCH);
    const after = await ctx.db
      .query("messengerConfigs")
      .withIndex("by_keyId", (q) => q.gt("keyId", keyId))
      .take(BATCH - before.length);
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
