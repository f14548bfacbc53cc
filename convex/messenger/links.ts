import { v } from "convex/values";
import { internal } from "../_generated/api";
import type { Doc } from "../_generated/dataModel";
import { internalMutation, internalQuery, type ActionCtx, type QueryCtx } from "../_generated/server";
import { AppError } from "../lib/errors";
import { charge, chargeOverall } from "../lib/limits";
import { ownerOf } from "../users/model";
import { codeHash } from "./codes";
import { linkOf, linkOfAccount } from "./model";

/** Binding a messenger account to the user whose code it sent. */

const vAccount = {
  code: v.string(),
  /** The messenger's id of the account. */
  messengerId: v.string(),
};

type Account = { code: string; messengerId: string; messengerUsername?: string | undefined };

/**
 * Links a messenger account to the user who made the code, and uses the code up. For actions. Each call counts as a
 * guess, of the account's, of the network address's and of everybody's.
 * @returns The address of the user's custody wallet, which is created when there is none.
 * @throws AppError `not_found` when the code is unknown, expired or used; `conflict` when the account is linked already
 * (to whomever) or the user has another account linked; `rate_limited`, `not_configured`.
 */
export async function connectAccount(
  ctx: ActionCtx,
  { code, messengerId, messengerUsername }: Account,
  address: string | null,
): Promise<{ walletAddress: string }> {
  await charge(ctx, "link", { userId: `messenger:${messengerId}`, address });
  await chargeOverall(ctx, "link");
  // The wallet comes first: a linked account always has one, wherever this is cut off.
  const userId = await ctx.runQuery(internal.messenger.links.codeOwner, {
    code,
    messengerId,
    now: Date.now(),
  });
  const owned = { userId, kind: "custody" as const };
  const present = await ctx.runQuery(internal.wallets.wallets.find, owned);
  const wallet = present ?? (await ctx.runAction(internal.wallets.wallets.create, owned));
  await ctx.runMutation(internal.messenger.links.link, {
    code,
    messengerId,
    ...(messengerUsername === undefined ? {} : { messengerUsername }),
  });
  return { walletAddress: wallet.address };
}

/** Whose code it is, as far as the account could be linked with it. @throws as `link` does. */
export const codeOwner = internalQuery({
  args: { ...vAccount, now: v.number() },
  returns: v.string(),
  handler: async (ctx, { code, messengerId, now }) => (await linkable(ctx, code, messengerId, now)).userId,
});

/** Stores the link and uses the code up: of several accounts with one code, the first to come here has it. */
export const link = internalMutation({
  args: { ...vAccount, messengerUsername: v.optional(v.string()) },
  returns: v.null(),
  handler: async (ctx, { code, messengerId, messengerUsername }) => {
    const now = Date.now();
    const { _id, userId } = await linkable(ctx, code, messengerId, now);
    await ctx.db.delete("linkCodes", _id);
    await ctx.db.insert("messengerLinks", {
      messengerId,
      ...(messengerUsername === undefined ? {} : { messengerUsername }),
      userId,
      linkedAt: now,
    });
    return null;
  },
});

/** The user a messenger account is linked to, or `null`. */
export const find = internalQuery({
  args: { messengerId: v.string() },
  returns: v.union(v.string(), v.null()),
  handler: async (ctx, { messengerId }) => (await linkOfAccount(ctx, messengerId))?.userId ?? null,
});

/**
 * The open code, if it can link this account.
 * @throws AppError `conflict`, `not_found`. An account that is linked learns nothing about codes.
 */
async function linkable(
  ctx: QueryCtx,
  code: string,
  messengerId: string,
  now: number,
): Promise<Doc<"linkCodes">> {
  if ((await linkOfAccount(ctx, messengerId)) !== null) {
    throw new AppError("conflict", "This messenger account is already linked");
  }
  const row = await ctx.db
    .query("linkCodes")
    .withIndex("by_codeHash", (q) => q.eq("codeHash", codeHash(code)))
    .unique();
  // The user may have claimed another userId since, and then this one is nobody's.
  if (row === null || row.expiresAt <= now || (await ownerOf(ctx, row.userId)) === null) {
    throw new AppError("not_found", "This code is unknown, expired or used: create a new one");
  }
  if ((await linkOf(ctx, row.userId)) !== null) {
    throw new AppError("conflict", "The user of this code has already linked another messenger account");
  }
  return row;
}
