import { v, type ObjectType } from "convex/values";
import { parse } from "convex-helpers/validators";
import type { Doc } from "../_generated/dataModel";
import { internalQuery, mutation, query, type QueryCtx } from "../_generated/server";
import { changeRules, nameOf, ownerOf, requireUser } from "../accounts/model";
import { change } from "../lib/changes";
import { setting } from "../lib/env";
import { AppError } from "../lib/errors";
import { charge } from "../lib/limits/charges";
import { literals } from "../lib/literals";
import { pseudonymOf } from "../lib/security/pseudonyms";
import { MINUTE } from "../lib/time";
import { CODE_LENGTH, codeByHash, codeHash, codeOf, linkOf, linkOfAccount, newCode, replaceCode } from "./model";
import { dropLink, linkOwner, noteLink, restoreLink } from "./owners";
import { messengerTables } from "./tables";

/** Links a messenger account to the user whose code it sent; the web application makes the code, and shows the link. */

/**
 * Creates a code for the caller to send to the bot; it replaces an earlier one. It is shown only once, and valid for 10
 * minutes and one link.
 * @throws AppError `not_configured`, `rate_limited`
 */
export const createCode = mutation({
  args: {},
  /** `expiresAt` in epoch ms; `account` is the caller's name in the bot's question whether to link. */
  returns: v.object({ code: v.string(), expiresAt: v.number(), account: v.string() }),
  handler: async (ctx) => {
    const { userId } = await requireUser(ctx);
    await charge(ctx, "settings", { userId, address: null });
    const code = newCode(CODE_LENGTH);
    const expiresAt = Date.now() + Number(setting("LINK_CODE_MINUTES")) * MINUTE;
    await replaceCode(ctx, { kind: "link", userId, codeHash: codeHash(code), expiresAt });
    return { code, expiresAt, account: pseudonymOf(userId) };
  },
});

const vLink = messengerTables.messengerLinks.validator
  .pick("messengerId", "linkedAt")
  .extend({ messengerUsername: v.union(v.string(), v.null()) });

/** The caller's linked messenger account, and when their open code expires (epoch ms, perhaps in the past). */
export const status = query({
  args: {},
  returns: v.object({ link: v.union(vLink, v.null()), codeExpiresAt: v.union(v.number(), v.null()) }),
  handler: async (ctx) => {
    const { userId } = await requireUser(ctx);
    const link = await linkOf(ctx, userId);
    const code = await codeOf(ctx, userId, "link");
    return {
      link: link === null ? null : parse(vLink, { messengerUsername: null, ...link }),
      codeExpiresAt: code?.expiresAt ?? null,
    };
  },
});

/** Unlinks the caller's messenger account, and withdraws their open code. @throws AppError `not_found` without a link. */
export const unlink = mutation({
  args: {},
  returns: v.null(),
  handler: async (ctx) => {
    const { userId } = await requireUser(ctx);
    const link = await linkOf(ctx, userId);
    if (link === null) throw new AppError("not_found", "No messenger account is linked to this user");
    await dropLink(ctx, link, "token");
    return null;
  },
});

const vAccount = {
  codeHash: v.string(),
  /** The messenger's id of the account. */
  messengerId: v.string(),
  /**
   * Who reports the account that sent the code: the account itself, in its chat with the service's bot; a bot with the
   * operator's secret; or an unknown caller of the endpoint, which is open without a secret. A link from the last is
   * not confirmed.
   */
  by: literals("account", "bot", "caller"),
};

export type Account = ObjectType<typeof vAccount> & { messengerUsername?: string | undefined };

/** The user of a code, if the account can be linked with it. @throws as `link` does. */
export const codeOwner = internalQuery({
  args: { ...vAccount, now: v.number() },
  returns: v.string(),
  handler: async (ctx, { now, ...account }) => (await linkable(ctx, account, now)).userId,
});

/** Stores the link and uses up the code: if several accounts send one code, the first gets the link. */
export const link = change(
  { ...vAccount, messengerUsername: v.optional(v.string()) },
  async (ctx, { messengerUsername, ...account }) => {
    const now = Date.now();
    const { userId, code, replaces } = await linkable(ctx, account, now);
    const { messengerId, codeHash, by } = account;
    if (code === null) {
      const [own] = replaces;
      if (own === undefined) return;
      await ctx.db.patch("messengerLinks", own._id, { confirmedAt: now });
      return noteLink(ctx, userId, messengerId);
    }
    for (const { _id } of replaces) await ctx.db.delete("messengerLinks", _id);
    await ctx.db.delete("codes", code._id);
    await ctx.db.insert("messengerLinks", {
      messengerId,
      ...(messengerUsername === undefined ? {} : { messengerUsername }),
      userId,
      linkedAt: now,
      codeHash,
      ...(by === "caller" ? {} : { confirmedAt: now }),
    });
    if (by === "caller") await changeRules(ctx, userId);
    else await noteLink(ctx, userId, messengerId);
  },
);

/** Ends a user's link, as the signed-in user does. */
export const end = change({ userId: v.string() }, async (ctx, { userId }) => {
  const link = await linkOf(ctx, userId);
  if (link !== null) await dropLink(ctx, link, "token");
});

/** Links the messenger account that has become a user's login. */
export const own = change({ userId: v.string(), messengerId: v.string() }, (ctx, { userId, messengerId }) =>
  linkOwner(ctx, userId, messengerId),
);

/** A freeze brings the account back that was unlinked within two hours, in place of the one that was to follow it. */
export const restore = change({ userId: v.string() }, (ctx, { userId }) =>
  restoreLink(ctx, userId, Date.now()),
);

/** The user that a messenger account is linked to, their current id, and whether the account has confirmed it; or `null`. */
export const find = internalQuery({
  args: { messengerId: v.string() },
  returns: v.union(v.object({ userId: v.string(), named: v.string(), confirmed: v.boolean() }), v.null()),
  handler: async (ctx, { messengerId }) => {
    const link = await linkOfAccount(ctx, messengerId);
    if (link === null) return null;
    const { userId, confirmedAt } = link;
    return { userId, named: await nameOf(ctx, userId), confirmed: confirmedAt !== undefined };
  },
});

type Linkable = {
  userId: string;
  /** `null`: it has linked the account already, whose own word confirms a link that was made elsewhere. */
  code: Doc<"codes"> | null;
  /** Unconfirmed links of the account and of the user, which the account's own word replaces, or confirms. */
  replaces: readonly Doc<"messengerLinks">[];
};

/**
 * The user of a code, and the links that linking this account replaces. Judged in this order: the account, the user, the
 * code.
 * @throws AppError `conflict` if the account or the user has a link; only the account's own word replaces one, and only an
 * unconfirmed one. `not_found` for a code that is unknown, expired or used.
 */
async function linkable(
  ctx: QueryCtx,
  { codeHash, messengerId, by }: Account,
  now: number,
): Promise<Linkable> {
  const stands = (link: Doc<"messengerLinks"> | null) =>
    link !== null && (by !== "account" || link.confirmedAt !== undefined);
  const ofAccount = await linkOfAccount(ctx, messengerId);
  if (by === "account" && ofAccount !== null && ofAccount.codeHash === codeHash)
    return {
      userId: ofAccount.userId,
      code: null,
      replaces: ofAccount.confirmedAt === undefined ? [ofAccount] : [],
    };
  if (stands(ofAccount)) throw new AppError("conflict", "This messenger account is already linked");
  const code = await codeByHash(ctx, "link", codeHash);
  const ofUser = code === null ? null : await linkOf(ctx, code.userId);
  if (stands(ofUser))
    throw new AppError("conflict", "The user of this code has already linked a messenger account");
  // The user may have claimed another userId since; then this one belongs to nobody.
  if (code === null || code.expiresAt <= now || (await ownerOf(ctx, code.userId)) === null) {
    const isOld = code !== null && code.expiresAt <= now;
    const what = isOld ? "expired" : "unknown: it was used, mistyped or replaced by a newer one";
    throw new AppError(
      "not_found",
      `This code is ${what}. Create a new one in the web application's profile`,
    );
  }
  const replaces = [ofAccount, ofUser].filter((link) => link !== null);
  return {
    userId: code.userId,
    code,
    replaces: replaces.filter(({ _id }, i) => replaces[i - 1]?._id !== _id),
  };
}
