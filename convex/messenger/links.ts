import { v, type ObjectType } from "convex/values";
import type { Doc } from "../_generated/dataModel";
import { internalMutation, internalQuery, type QueryCtx } from "../_generated/server";
import { AppError } from "../lib/errors";
import { ownerOf } from "../users/model";
import { codeByHash, linkOf, linkOfAccount, userOfAccount } from "./model";

/** Binding a messenger account to the user whose code it sent. */

const vAccount = {
  codeHash: v.string(),
  /** The messenger's id of the account. */
  messengerId: v.string(),
  /**
   * Who says which account sent the code: the account itself, in its chat with the bot, or whoever called the endpoint,
   * which is open. A link that the account has not made or confirmed itself gives way to the next one.
   */
  by: v.union(v.literal("account"), v.literal("caller")),
};

export type Account = ObjectType<typeof vAccount> & { messengerUsername?: string | undefined };

/** Whose code it is, as far as the account could be linked with it. @throws as `link` does. */
export const codeOwner = internalQuery({
  args: { ...vAccount, now: v.number() },
  returns: v.string(),
  handler: async (ctx, { now, ...account }) => (await linkable(ctx, account, now)).userId,
});

/** Stores the link and uses the code up: of several accounts with one code, the first to come here has it. */
export const link = internalMutation({
  args: { ...vAccount, messengerUsername: v.optional(v.string()) },
  returns: v.null(),
  handler: async (ctx, { messengerUsername, ...account }) => {
    const now = Date.now();
    const { userId, code } = await linkable(ctx, account, now);
    if (code === null) return null;
    const { messengerId, codeHash, by } = account;
    // What nobody has confirmed gives way: the account's, then the user's, which may have been the same.
    const ofAccount = await linkOfAccount(ctx, messengerId);
    if (ofAccount !== null) await ctx.db.delete("messengerLinks", ofAccount._id);
    const ofUser = await linkOf(ctx, userId);
    if (ofUser !== null) await ctx.db.delete("messengerLinks", ofUser._id);
    await ctx.db.delete("linkCodes", code._id);
    await ctx.db.insert("messengerLinks", {
      messengerId,
      ...(messengerUsername === undefined ? {} : { messengerUsername }),
      userId,
      linkedAt: now,
      codeHash,
      ...(by === "account" ? { confirmedAt: now } : {}),
    });
    return null;
  },
});

/** The user a messenger account is linked to by its own word, or `null`. */
export const find = internalQuery({
  args: { messengerId: v.string() },
  returns: v.union(v.string(), v.null()),
  handler: (ctx, { messengerId }) => userOfAccount(ctx, messengerId),
});

/**
 * Whose code it is, and the open code itself if it can link this account; `null` when it has linked it already, which
 * whoever was cut off behind that asks once more.
 * @throws AppError `conflict`, `not_found`. An account that is linked learns nothing about codes.
 */
async function linkable(
  ctx: QueryCtx,
  { codeHash, messengerId, by }: Account,
  now: number,
): Promise<{ userId: string; code: Doc<"linkCodes"> | null }> {
  const present = await linkOfAccount(ctx, messengerId);
  if (present?.confirmedAt !== undefined) {
    if (by === "account" && present.codeHash === codeHash) return { userId: present.userId, code: null };
    throw new AppError("conflict", "This messenger account is already linked");
  }
  const code = await codeByHash(ctx, codeHash);
  // The user may have claimed another userId since, and then this one is nobody's.
  if (code === null || code.expiresAt <= now || (await ownerOf(ctx, code.userId)) === null) {
    throw new AppError("not_found", "This code is unknown, expired or used: create a new one");
  }
  const others = await linkOf(ctx, code.userId);
  if (others?.confirmedAt !== undefined && others.messengerId !== messengerId) {
    throw new AppError("conflict", "The user of this code has already linked another messenger account");
  }
  return { userId: code.userId, code };
}
