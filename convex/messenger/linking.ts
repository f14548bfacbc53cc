import type { WithoutSystemFields } from "convex/server";
import { v, type ObjectType } from "convex/values";
import { internal } from "../_generated/api";
import { pickFields } from "../lib/objects";
import type { Doc } from "../_generated/dataModel";
import { internalQuery, mutation, query, type MutationCtx, type QueryCtx } from "../_generated/server";
import {
  changeRules,
  RELAXATION_MS,
  toMessengerLogin,
  findAccount,
  findAccountByLogin,
  parseMessengerLogin,
  getAccountName,
  findOwner,
  requireUser,
  saveAccount,
} from "../identity/model";
import { requireSetter } from "../identity/access";
import { defineMutation } from "../platform/changes";
import { AppError } from "../lib/errors";
import { literals } from "../lib/literals";
import { derivePseudonym } from "../lib/crypto";
import { formatDateTime, MINUTE } from "../lib/time";
import type { Paragraph } from "./format";
import {
  toChatUser,
  CODE_LENGTH,
  findCodeByHash,
  hashCode,
  findFormerLink,
  withdrawCode,
  findLink,
  findLinkOfMessenger,
  createCodeText,
  replaceCode,
  findUserOfMessenger,
} from "./model";
import { FREEZE, notifyEverywhere } from "./notices";
import { adoptSubscription } from "./subscriptions";
import { messengerTables } from "./tables";

const CODE_MS = 10 * MINUTE;

/**
 * The credential that ends a link: the account's own (which may do nothing afterwards), or the signed-in user's token.
 */
type EndedBy = "account" | "token";

/**
 * Links a messenger account to the user whose code it sent; the web application creates the code, and shows the link. A
 * link also decides which account may approve a user's orders: for two hours after an unlink no other account can
 * approve, and the former one can still freeze. The unlinked account, which may be a thief's, cannot undo an unlink.
 */

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
    const { userId } = await requireSetter(ctx);
    const code = createCodeText(CODE_LENGTH);
    const expiresAt = Date.now() + CODE_MS;
    await replaceCode(ctx, { kind: "link", userId, codeHash: hashCode(code), expiresAt });
    return { code, expiresAt, account: derivePseudonym(userId) };
  },
});

const vLink = messengerTables.messengerLinks.validator
  .pick("messengerId", "linkedAt")
  .extend({ messengerUsername: v.union(v.string(), v.null()) });

/** The caller's linked messenger account. */
export const status = query({
  args: {},
  returns: v.object({ link: v.union(vLink, v.null()) }),
  handler: async (ctx) => {
    const link = await findLink(ctx, (await requireUser(ctx)).userId);
    return { link: link && pickFields(vLink, { messengerUsername: null, ...link }) };
  },
});

/** Unlinks the caller's messenger account, and withdraws their open code. @throws AppError `not_found` without a link. */
export const unlink = mutation({
  args: {},
  returns: v.null(),
  handler: async (ctx) => {
    const { userId } = await requireUser(ctx);
    const link = await findLink(ctx, userId);
    if (link === null)
      throw new AppError(
        "not_found",
        "No messenger account is linked to your account: there is nothing to unlink",
      );
    await dropLink(ctx, link, "token");
    return null;
  },
});

const vMessengerAccount = {
  codeHash: v.string(),
  /** The messenger's id of the account. */
  messengerId: v.string(),
  /**
   * The reporter of the account that sent the code: the account itself, in its chat with the service's bot; a bot with the
   * operator's secret; or an anonymous caller of the endpoint, which is open without a secret. A link by an anonymous
   * caller is unconfirmed.
   */
  by: literals("account", "bot", "caller"),
};

export type MessengerAccount = ObjectType<typeof vMessengerAccount> & {
  messengerUsername?: string | undefined;
};

/** The user of a code, if the account can be linked with it. @throws AppError as `link` does. */
export const getCodeOwner = internalQuery({
  args: { ...vMessengerAccount, now: v.number() },
  returns: v.string(),
  handler: async (ctx, { now, ...account }) => (await requireLinkable(ctx, account, now)).userId,
});

/** Stores the link and uses up the code: if several accounts send one code, the first gets the link. */
export const link = defineMutation(
  { ...vMessengerAccount, messengerUsername: v.optional(v.string()) },
  async (ctx, { messengerUsername, ...account }) => {
    const now = Date.now();
    const { userId, code } = await requireLinkable(ctx, account, now);
    const { messengerId, codeHash, by } = account;
    const ownLink = await findLinkOfMessenger(ctx, messengerId);
    if (code === null) {
      if (ownLink === null || ownLink.confirmedAt !== undefined) return;
      await ctx.db.patch("messengerLinks", ownLink._id, { confirmedAt: now });
      return handleConfirmedLink(ctx, userId, messengerId);
    }
    await ctx.db.delete("codes", code._id);
    await putLink(ctx, {
      messengerId,
      ...(messengerUsername === undefined ? {} : { messengerUsername }),
      userId,
      linkedAt: now,
      codeHash,
      ...(by === "caller" ? {} : { confirmedAt: now }),
    });
    if (by === "caller") await changeRules(ctx, userId);
    else await handleConfirmedLink(ctx, userId, messengerId);
  },
);

/** Stores a link, replacing earlier links of its account and its user. */
async function putLink(ctx: MutationCtx, link: WithoutSystemFields<Doc<"messengerLinks">>) {
  for (const former of [() => findLink(ctx, link.userId), () => findLinkOfMessenger(ctx, link.messengerId)]) {
    const row = await former();
    if (row !== null) await ctx.db.delete("messengerLinks", row._id);
  }
  return ctx.db.insert("messengerLinks", link);
}

/** Ends a user's link. @param by As for `dropLink`. */
export async function endLink(ctx: MutationCtx, userId: string, by: EndedBy): Promise<void> {
  const link = await findLink(ctx, userId);
  if (link !== null) await dropLink(ctx, link, by);
}

/**
 * Ends the link of a user whose data are deleted. An only login stays linked: the wallet could not be reached without
 * it.
 */
export async function endErasedLink(ctx: MutationCtx, userId: string): Promise<void> {
  const link = await findLink(ctx, userId);
  if (link === null || !(await isLogin(ctx, userId, link.messengerId))) return endLink(ctx, userId, "token");
  await ctx.db.patch("messengerLinks", link._id, { messengerUsername: undefined, codeHash: undefined });
}

/** Ends every right of the linked and the former messenger account of a user whose login has changed. */
export async function endEveryLink(ctx: MutationCtx, userId: string): Promise<void> {
  await endLink(ctx, userId, "account");
  await saveAccount(ctx, userId, { formerLink: undefined });
}

/** Links the account that has become a user's login. Unconfirmed links of either are replaced. */
export async function linkOwner(ctx: MutationCtx, userId: string, messengerId: string): Promise<void> {
  const now = Date.now();
  await putLink(ctx, { messengerId, userId, linkedAt: now, confirmedAt: now });
  await handleConfirmedLink(ctx, userId, messengerId);
}

/** The user of a messenger account's link, with their current id, and whether the account has confirmed it; or `null`. */
export const findLinkedAccount = internalQuery({
  args: { messengerId: v.string() },
  returns: v.union(
    v.object({
      userId: v.string(),
      accountName: v.string(),
      confirmed: v.boolean(),
      /** The account belongs to a chat alone: its id was drawn, or is a secret that only its owner gives away. */
      isOfChat: v.boolean(),
    }),
    v.null(),
  ),
  handler: async (ctx, { messengerId }) => {
    const link = await findLinkOfMessenger(ctx, messengerId);
    if (link === null) return null;
    const { userId, confirmedAt } = link;
    return {
      userId,
      accountName: await getAccountName(ctx, userId),
      confirmed: confirmedAt !== undefined,
      isOfChat: parseMessengerLogin((await findOwner(ctx, userId))?.login) !== null,
    };
  },
});

/**
 * The user of a code. `code` is `null` if the account is already linked by it: then the account's message confirms the
 * link. Checked in this order: the account, the user, the code.
 * @throws AppError `conflict` if the account or the user has a link; the account itself can replace an unconfirmed one.
 * `not_found` for a code that is unknown, expired or used.
 */
async function requireLinkable(
  ctx: QueryCtx,
  { codeHash, messengerId, by }: MessengerAccount,
  now: number,
): Promise<{ userId: string; code: Doc<"codes"> | null }> {
  const stands = (link: Doc<"messengerLinks"> | null) =>
    link !== null && (by !== "account" || link.confirmedAt !== undefined);
  const ofAccount = await findLinkOfMessenger(ctx, messengerId);
  if (by === "account" && ofAccount !== null && ofAccount.codeHash === codeHash)
    return { userId: ofAccount.userId, code: null };
  if (stands(ofAccount))
    throw new AppError("conflict", "This messenger account is already linked: unlink it first");
  const code = await findCodeByHash(ctx, "link", codeHash);
  const ofUser = code === null ? null : await findLink(ctx, code.userId);
  if (stands(ofUser))
    throw new AppError(
      "conflict",
      "The user of this code has already linked a messenger account: unlink that one first, in the web application's profile",
    );
  // After a claim under another userId the code's user no longer exists.
  if (code === null || code.expiresAt <= now || (await findOwner(ctx, code.userId)) === null) {
    const isOld = code !== null && code.expiresAt <= now;
    const what = isOld ? "expired" : "unknown: it was used, mistyped or replaced by a newer one";
    throw new AppError(
      "not_found",
      `This code is ${what}. Create a new one in the web application's profile`,
    );
  }
  return { userId: code.userId, code };
}

/**
 * The user whose account a messenger account may freeze: by its link, by a link that ended less than two hours ago, or as
 * the login.
 */
export async function findUserToFreeze(
  ctx: QueryCtx,
  messengerId: string,
  now: number,
): Promise<string | null> {
  const linked = await findUserOfMessenger(ctx, messengerId);
  if (linked !== null) return linked;
  const former = await ctx.db
    .query("accounts")
    .withIndex("by_formerLink", (q) =>
      q.eq("formerLink.messengerId", messengerId).gt("formerLink.until", now),
    )
    .first();
  return former?.userId ?? (await findAccountByLogin(ctx, toMessengerLogin(messengerId)))?.userId ?? null;
}

/** Whether a messenger account is the user's only login: then no other account can approve orders or end a freeze. */
export async function isLogin(ctx: QueryCtx, userId: string, messengerId: string): Promise<boolean> {
  return (await findOwner(ctx, userId))?.login === toMessengerLogin(messengerId);
}

/**
 * Handles a newly confirmed link: questions to another account become void, every account that may act is notified, and
 * the chat's alerts become the user's.
 */
async function handleConfirmedLink(ctx: MutationCtx, userId: string, messengerId: string): Promise<void> {
  await ctx.runMutation(internal.alerts.proposals.adoptAlerts, { from: toChatUser(messengerId), to: userId });
  await adoptSubscription(ctx, messengerId, userId);
  await changeRules(ctx, userId);
  const former = await findFormerLink(ctx, userId, Date.now());
  if (former === null || former.messengerId === messengerId) return;
  const paragraphs: Paragraph[] = [
    [{ bold: "🔐 Another messenger account is linked to your account" }],
    [`From ${formatDateTime(former.until)} on it approves what moves your money.`],
  ];
  await notifyEverywhere(ctx, { userId, kind: "change of chat", paragraphs, buttons: FREEZE });
}

/**
 * Unlinks an account, and withdraws the open code of its user. A confirmed account is notified that its link has ended,
 * and may still freeze for two hours, unless it has unlinked itself.
 */
export async function dropLink(ctx: MutationCtx, link: Doc<"messengerLinks">, by: EndedBy): Promise<void> {
  const { _id, userId, messengerId } = link;
  await ctx.db.delete("messengerLinks", _id);
  await withdrawCode(ctx, userId, "link");
  // A deletion takes the user's choices with it; otherwise they are the chat's own again.
  if ((await findAccount(ctx, userId))?.erasingSince === undefined)
    await adoptSubscription(ctx, messengerId, toChatUser(messengerId));
  const now = Date.now();
  // Unlinking several accounts in a row does not end the say of the first.
  const isFirst = (await findFormerLink(ctx, userId, now)) === null;
  if (link.confirmedAt === undefined || by === "account" || !isFirst) return changeRules(ctx, userId);
  const until = now + RELAXATION_MS;
  await changeRules(ctx, userId, { formerLink: { messengerId, until } });
  const paragraphs: Paragraph[] = [
    [{ bold: "🔐 A messenger account is unlinked from your account" }],
    [
      `Until ${formatDateTime(until)} no other account approves anything in its place, and it can still freeze the account.`,
    ],
  ];
  await notifyEverywhere(ctx, { userId, kind: "change of chat", paragraphs, buttons: FREEZE });
}
