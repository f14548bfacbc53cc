import { v } from "convex/values";
import { internal } from "../_generated/api";
import { internalAction, internalMutation, internalQuery } from "../_generated/server";
import { takeCommonNow } from "../lib/pools";
import { keyIdOf, resealAll, vResealed, vSealed } from "../lib/sealing";
import { permitNow } from "../users/access";
import { configOf, saveConfig } from "./model";
import { botTokenSeal } from "./seals";

/** A field's new value; `null` clears it, leaving it out keeps it. */
const vChange = v.optional(v.union(v.string(), v.null()));

/**
 * Stores what a user set; the bot token comes sealed.
 * @throws AppError `unauthorized`, `forbidden`; `rate_limited` for one more of a stranger's.
 */
export const save = internalMutation({
  args: {
    userId: v.string(),
    sealedBotToken: vChange,
    chatId: vChange,
    /** Who sets it, and whether they are signed in. */
    setBy: v.array(v.string()),
    signedIn: v.boolean(),
  },
  returns: v.null(),
  handler: async (ctx, { userId, sealedBotToken, chatId, setBy, signedIn }) => {
    await permitNow(ctx, userId, "delivery", Date.now());
    if (!signedIn && (await configOf(ctx, userId)) === null) await takeCommonNow(ctx, "setting", setBy);
    await saveConfig(ctx, userId, { sealedBotToken, chatId, setBy });
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
    return resealAll(ctx, internal.messenger.settings.outdated, internal.messenger.settings.replaceTokens);
  },
});

/** Bot tokens sealed under another master key than the named one. */
export const outdated = internalQuery({
  args: { keyId: v.string(), limit: v.number() },
  returns: v.array(vSealed),
  handler: async (ctx, { keyId, limit }) => {
    const before = await ctx.db
      .query("messengerConfigs")
      .withIndex("by_keyId", (q) => q.gt("keyId", "").lt("keyId", keyId))
      .take(limit);
    const after = await ctx.db
      .query("messengerConfigs")
      .withIndex("by_keyId", (q) => q.gt("keyId", keyId))
      .take(limit - before.length);
    return [...before, ...after].flatMap(({ userId: id, sealedBotToken: sealedSecret }) =>
      sealedSecret === undefined ? [] : [{ id, sealedSecret, context: botTokenSeal(id) }],
    );
  },
});

/** Puts re-sealed tokens in place of what they were made from; one that changed meanwhile stays. */
export const replaceTokens = internalMutation({
  args: { resealed: v.array(vResealed) },
  returns: v.number(),
  handler: async (ctx, { resealed }) => {
    let replaced = 0;
    for (const { id: userId, from, to } of resealed) {
      const row = await configOf(ctx, userId);
      if (row?.sealedBotToken !== from) continue;
      await ctx.db.patch("messengerConfigs", row._id, { sealedBotToken: to, keyId: keyIdOf(to) });
      replaced++;
    }
    return replaced;
  },
});
