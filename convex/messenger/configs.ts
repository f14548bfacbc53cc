import { v } from "convex/values";
import { internalQuery } from "../_generated/server";
import { permitNow } from "../accounts/access";
import { ownerOf } from "../accounts/model";
import { recordAudit } from "../lib/records/audit";
import { change } from "../lib/changes";
import { outdatedIn, replacing } from "../lib/security/rotation";
import { keyIdOf } from "../lib/security/seals";
import type { Paragraph } from "./format";
import { botTokenSeal, configOf, saveConfig } from "./model";
import { FREEZE, tellEverywhere } from "./notices";
import { webhooksOf } from "./webhooks/events";

/** Users' messenger settings as stored. */

/** A field's new value; `null` clears it, leaving it out keeps it. */
const vChange = v.optional(v.union(v.string(), v.null()));

/**
 * Stores a user's settings; the bot token is already sealed. Where cards go elsewhere from now on, every chat that the
 * user has is told, by the bot that has written there until now.
 * @throws AppError `unauthorized`, `forbidden`
 */
export const save = change(
  {
    userId: v.string(),
    sealedBotToken: vChange,
    chatId: vChange,
    keyHash: v.optional(v.string()),
  },
  async (ctx, { userId, keyHash, ...changes }) => {
    await permitNow(ctx, userId, "delivery", Date.now(), keyHash);
    const isOwned = (await ownerOf(ctx, userId)) !== null;
    const before = await configOf(ctx, userId);
    const isOther = (field: "chatId" | "sealedBotToken") =>
      changes[field] !== undefined && (changes[field] ?? undefined) !== before?.[field];
    if (isOther("chatId") || isOther("sealedBotToken")) {
      const paragraphs = isOwned ? ELSEWHERE : LEFT;
      await tellEverywhere(ctx, { userId, kind: "change of chat", paragraphs, buttons: FREEZE });
    }
    await saveConfig(ctx, userId, changes);
    if (isOwned) await recordAudit(ctx, { actor: userId, action: "delivery changed", subject: userId });
  },
);

const ELSEWHERE: Paragraph[] = [
  [{ bold: "🔀 Your cards go elsewhere" }],
  ["Your account has other messenger settings. If that was not you, freeze it and set them back."],
];
/** Of an id without an owner: anybody who knows it can do that. */
const LEFT: Paragraph[] = [
  [{ bold: "🔀 Your account has new messenger settings" }],
  [
    "Somebody who knows the account id that this chat was set for has changed its chat or its bot. Its cards may come here no more.",
  ],
  [
    "If that was not you: set this chat again, and move what its wallets hold to an account id that nobody can guess.",
  ],
];

/** Ends all that others may have set on an id that has an owner now. */
export const endAll = change({ userId: v.string() }, async (ctx, { userId }) => {
  await saveConfig(ctx, userId, { chatId: null, sealedBotToken: null });
  for (const { _id } of await webhooksOf(ctx, userId)) await ctx.db.delete("webhooks", _id);
});

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
  const row = await configOf(ctx, userId);
  if (row?.sealedBotToken !== from) return false;
  await ctx.db.patch("messengerConfigs", row._id, { sealedBotToken: to, keyId: keyIdOf(to) });
  return true;
});
