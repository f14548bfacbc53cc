import { v } from "convex/values";
import { internalQuery } from "../_generated/server";
import { change } from "../lib/changes";
import { takeCommonNow } from "../lib/limits/pools";
import { outdatedIn, replacing } from "../lib/security/rotation";
import { keyIdOf } from "../lib/security/seals";
import { permitNow } from "../users/access";
import { ownerOf } from "../users/model";
import { configOf, saveConfig } from "./model";
import { changeDelivery } from "./owners";
import { formerPlaces, leavePlace } from "./places";
import { botTokenSeal } from "./seals";

/** Users' messenger settings as stored. */

/** A field's new value; `null` clears it, leaving it out keeps it. */
const vChange = v.optional(v.union(v.string(), v.null()));

/**
 * Stores a user's settings; the bot token is already sealed.
 * @throws AppError `unauthorized`, `forbidden`; `rate_limited` if strangers have created too many.
 */
export const save = change(
  {
    userId: v.string(),
    sealedBotToken: vChange,
    chatId: vChange,
    /** Who sets it, and whether they are signed in. */
    setBy: v.array(v.string()),
    signedIn: v.boolean(),
  },
  async (ctx, { userId, sealedBotToken, chatId, setBy, signedIn }) => {
    await permitNow(ctx, userId, "delivery", Date.now());
    if (!signedIn && (await configOf(ctx, userId)) === null) await takeCommonNow(ctx, "setting", setBy);
    const changes = {
      ...(sealedBotToken === undefined ? {} : { sealedBotToken }),
      ...(chatId === undefined ? {} : { chatId }),
    };
    await leavePlace(ctx, userId, changes);
    const isOwned = (await ownerOf(ctx, userId)) !== null;
    await (isOwned ? changeDelivery : saveConfig)(ctx, userId, { ...changes, setBy });
  },
);

/** The sealed token of a user's own bot. */
export const sealedToken = internalQuery({
  args: { userId: v.string() },
  returns: v.union(v.string(), v.null()),
  handler: async (ctx, { userId }) => (await configOf(ctx, userId))?.sealedBotToken ?? null,
});

/** Bot tokens sealed under another master key than the named one. */
export const outdated = outdatedIn(
  (db) => db.query("messengerConfigs"),
  ({ userId: id, sealedBotToken: sealedSecret }) =>
    sealedSecret === undefined ? null : { id, sealedSecret, context: botTokenSeal(id) },
);

/** Replaces tokens by re-sealed ones; a token that changed meanwhile stays. */
export const replaceTokens = replacing(async (ctx, { id: userId, from, to }) => {
  const rows = [await configOf(ctx, userId), ...(await formerPlaces(ctx, userId))];
  const row = rows.find((one) => one?.sealedBotToken === from) ?? null;
  if (row === null) return false;
  await ctx.db.patch("messengerConfigs", row._id, { sealedBotToken: to, keyId: keyIdOf(to) });
  return true;
});

/** Whether a caller may change a user's messenger settings. @throws AppError `unauthorized`, `forbidden`. */
export const assertMaySet = internalQuery({
  args: { userId: v.string(), keyHash: v.optional(v.string()), now: v.number() },
  returns: v.null(),
  handler: async (ctx, { userId, keyHash, now }): Promise<null> => {
    await permitNow(ctx, userId, "delivery", now, keyHash);
    return null;
  },
});
