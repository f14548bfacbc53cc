import { v, type Infer } from "convex/values";
import { internalMutation, internalQuery } from "../_generated/server";
import {
  createRandomHex,
  createUserId,
  findAccountByLogin,
  findOwner,
  parseMessengerLogin,
  RELAXATION_MS,
  requireUnfrozenRules,
  toMessengerLogin,
} from "../identity/model";
import { derivePseudonym, deriveSecret } from "../lib/crypto";
import { AppError } from "../lib/errors";
import { formatDateTime, MINUTE } from "../lib/time";
import { dropLink, endLink, isLogin, linkOwner } from "../messenger/linking";
import {
  CODE_LENGTH,
  createCodeText,
  findCodeByHash,
  findLink,
  findLinkOfMessenger,
  findUserOfMessenger,
  hashCode,
  replaceCode,
} from "../messenger/model";
import { defineMutation } from "../platform/changes";
import { charge } from "../platform/limits/charges";
import { requireIdentity } from "../platform/limits/callers";
import { findLoginConflict, findPendingClaim, openPendingClaim } from "./claims";

/**
 * Accounts of a private chat with the service's bot: the chat makes one by a tap, is its login, and names another login,
 * which takes its place two hours later. The id of such an account is drawn here, and only its owner is shown it.
 */

const vChatAccount = v.object({ userId: v.string(), isLogin: v.boolean() });
/** An account, and whether the chat is its login. */
export type ChatAccount = Infer<typeof vChatAccount>;

/**
 * The account of a messenger account: the one it is linked to, or the one whose login it is, which is linked again where no
 * chat is; otherwise a new one, owned from the first second.
 * @param args.make Whether to make one.
 * @returns `null` for none.
 * @throws AppError `conflict` while a claim of the messenger account's is pending.
 */
export const ensureAccount = internalMutation({
  args: { messengerId: v.string(), make: v.boolean() },
  returns: v.union(vChatAccount, v.null()),
  handler: async (ctx, { messengerId, make }) => {
    const linked = await findUserOfMessenger(ctx, messengerId);
    if (linked !== null) return { userId: linked, isLogin: await isLogin(ctx, linked, messengerId) };
    const login = toMessengerLogin(messengerId);
    const own = await findAccountByLogin(ctx, login);
    if (own !== null && (await findLink(ctx, own.userId)) !== null) return null;
    if (own === null && !make) return null;
    const userId = own?.userId ?? createUserId();
    if (own === null) {
      const claim = await findPendingClaim(ctx, login);
      if (claim !== null)
        throw new AppError("conflict", "You have claimed an account id already, and a chat can own only one");
      await ctx.db.insert("accounts", { userId, login, claimed: true });
    }
    await linkOwner(ctx, userId, messengerId);
    return { userId, isLogin: true };
  },
});

/** Moves an account's link to the chat that is its login; the chat of before is told. @throws AppError `not_found` */
export const moveLinkToLogin = defineMutation({ messengerId: v.string() }, async (ctx, { messengerId }) => {
  const own = await findAccountByLogin(ctx, toMessengerLogin(messengerId));
  if (own === null)
    throw new AppError("not_found", "This chat is the login of no account: /wallet makes one");
  const link = await findLinkOfMessenger(ctx, messengerId);
  if (link?.confirmedAt !== undefined && link.userId === own.userId) return;
  if (link?.confirmedAt !== undefined) await dropLink(ctx, link, "account");
  await endLink(ctx, own.userId, "token");
  await linkOwner(ctx, own.userId, messengerId);
});

/** What a chat without a linked account has: a claim that takes effect then (epoch ms), or an account whose login it is. */
export const getStanding = internalQuery({
  args: { messengerId: v.string() },
  returns: v.object({ claimedFrom: v.union(v.number(), v.null()), isLogin: v.boolean() }),
  handler: async (ctx, { messengerId }) => {
    const login = toMessengerLogin(messengerId);
    const own = await findAccountByLogin(ctx, login);
    const claimedFrom = (await findPendingClaim(ctx, login))?.claim?.dueAt ?? null;
    return { claimedFrom, isLogin: own !== null };
  },
});

const CODE_MS = 10 * MINUTE;

/** The code of a seed. */
export function deriveLoginCode(seed: string): string {
  return createCodeText(CODE_LENGTH, deriveSecret("login code", seed).slice(0, CODE_LENGTH));
}

/**
 * Makes the code by which another login takes the place of a chat, valid for ten minutes and one use; it replaces an
 * earlier one.
 * @returns The seed of the code, for its card.
 * @throws AppError `conflict` if the chat is not the login; `paused` while the account is frozen; `rate_limited`.
 */
export const createLoginCode = internalMutation({
  args: { userId: v.string(), messengerId: v.string() },
  returns: v.string(),
  handler: async (ctx, { userId, messengerId }) => {
    if (!(await isLogin(ctx, userId, messengerId)))
      throw new AppError(
        "conflict",
        "This chat is linked to your account and is not its login: send /login in the chat that is, or set another in the web application",
      );
    await charge(ctx, "settings", { userId, address: null });
    await requireUnfrozenRules(ctx, userId);
    const seed = createRandomHex(16);
    const codeHash = hashCode(deriveLoginCode(seed));
    await replaceCode(ctx, { kind: "login", userId, codeHash, expiresAt: Date.now() + CODE_MS });
    return seed;
  },
});

/**
 * Opens the change of login of a code, or previews it: the caller, signed in to the web application or a private chat, is
 * the login two hours from now. Every channel is told, and a freeze cancels it. A repeat answers the same.
 * @param args.messengerId The chat; absent: the signed-in caller.
 * @returns The account's pseudonym, and when the change takes effect (epoch ms).
 * @throws AppError `not_found` for a code that is unknown, expired or used; `conflict` if the login cannot own the account,
 * or another change is pending; `paused` while the account is frozen.
 */
export const redeemLoginCode = internalMutation({
  args: { codeHash: v.string(), messengerId: v.optional(v.string()), isMeant: v.boolean() },
  returns: v.object({ account: v.string(), from: v.number() }),
  handler: async (ctx, { codeHash, messengerId, isMeant }) => {
    const login =
      messengerId === undefined
        ? (await requireIdentity(ctx)).tokenIdentifier
        : toMessengerLogin(messengerId);
    const now = Date.now();
    const code = await findCodeByHash(ctx, "login", codeHash);
    const pending = await findPendingClaim(ctx, login);
    if (code === null && pending?.claim?.asked === true)
      return { account: derivePseudonym(pending.userId), from: pending.claim.dueAt };
    const row = code === null ? null : await findOwner(ctx, code.userId);
    if (code === null || row === null || code.expiresAt <= now || parseMessengerLogin(row.login) === null)
      throw new AppError(
        "not_found",
        "This code is unknown, used or older than ten minutes: /login makes a new one",
      );
    const { userId, claim } = row;
    await requireUnfrozenRules(ctx, userId);
    if (row.login === login) throw new AppError("conflict", "This chat is the login of the account already");
    if (claim?.login !== undefined)
      throw new AppError(
        "conflict",
        `Another change of login is pending until ${formatDateTime(claim.dueAt)}`,
      );
    const refusal = await findLoginConflict(ctx, userId, login);
    if (refusal !== null) throw new AppError("conflict", refusal);
    const from = now + RELAXATION_MS;
    if (!isMeant) return { account: derivePseudonym(userId), from };
    await ctx.db.delete("codes", code._id);
    const which = messengerId === undefined ? "A login of the web application" : "Another chat";
    await openPendingClaim(ctx, userId, { login, dueAt: from, asked: true }, [
      "🔐 Your account will get another login",
      `${which} takes the place of this chat on ${formatDateTime(from)}, by a code that was made here. This chat stays linked: it orders and approves as before.`,
      "If that was not you, freeze your account before then: that cancels it.",
    ]);
    return { account: derivePseudonym(userId), from };
  },
});
