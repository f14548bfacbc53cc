import { v, type Infer } from "convex/values";
import { internalMutation, internalQuery, type QueryCtx } from "../_generated/server";
import {
  createUserId,
  findAccountByLogin,
  findOwner,
  parseMessengerLogin,
  RELAXATION_MS,
  requireUnfrozenRules,
  toMessengerLogin,
} from "../identity/model";
import { derivePseudonym } from "../lib/crypto";
import { AppError } from "../lib/errors";
import { formatDateTime, MINUTE } from "../lib/time";
import { dropLink, endLink, isLogin, linkOwner } from "../messenger/linking";
import {
  createSecret,
  findCodeByHash,
  findLinkOfMessenger,
  findUserOfMessenger,
  hashCode,
  replaceCode,
} from "../messenger/model";
import { vSecret } from "../messenger/tables";
import { charge } from "../platform/limits/charges";
import { requireIdentity } from "../platform/limits/callers";
import { findLoginConflict, findPendingClaim, openPendingClaim } from "./claims";

/**
 * Accounts that are made in a private chat with the service's bot. A tap makes one, and the chat is its login until a
 * login that the owner names by a code takes its place, two hours later. The account's id is drawn here and shown to
 * its owner alone.
 */

/**
 * Gives a private chat its account, after a tap. With `isHere` it is the account whose login the chat is: its link
 * moves to this chat, and the formerly linked chat is notified. Otherwise it is the account that the chat is linked to
 * or is the login of, or a new one, which has an owner from the start.
 * @throws AppError `conflict` while a claim of the messenger account's is pending; `not_found` with `isHere`, if the
 * chat is no account's login.
 */
export const takeAccount = internalMutation({
  args: { messengerId: v.string(), isHere: v.boolean() },
  returns: v.object({ userId: v.string(), isLogin: v.boolean() }),
  handler: async (ctx, { messengerId, isHere }) => {
    const login = toMessengerLogin(messengerId);
    const ownAccount = await findAccountByLogin(ctx, login);
    const link = await findLinkOfMessenger(ctx, messengerId);
    const linked = link?.confirmedAt === undefined ? null : link;
    if (linked !== null && (linked.userId === ownAccount?.userId || !isHere))
      return { userId: linked.userId, isLogin: linked.userId === ownAccount?.userId };
    if (ownAccount === null && isHere)
      throw new AppError("not_found", "This chat is the login of no account: /wallet makes one");
    if (ownAccount === null && (await findPendingClaim(ctx, login)) !== null)
      throw new AppError(
        "conflict",
        "This chat has claimed an account id already, and a chat can own only one: wait until that claim takes effect",
      );
    const userId = ownAccount?.userId ?? createUserId();
    if (ownAccount === null) await ctx.db.insert("accounts", { userId, login, claimed: true });
    if (linked !== null) await dropLink(ctx, linked, "account");
    await endLink(ctx, userId, "token");
    await linkOwner(ctx, userId, messengerId);
    return { userId, isLogin: true };
  },
});

const vChatAccount = v.object({
  /** The user to whom the chat is linked; `null` without a link. */
  userId: v.union(v.string(), v.null()),
  /** Whether the chat is the login of that user; without a link, of any account. */
  isLogin: v.boolean(),
  /** When the pending claim of the chat takes effect, epoch ms. */
  claimedFrom: v.union(v.number(), v.null()),
});
/** The account behind a chat: its linked user, and whether the chat is a login or has a pending claim. */
export type ChatAccount = Infer<typeof vChatAccount>;

export async function readChatAccount(ctx: QueryCtx, messengerId: string): Promise<ChatAccount> {
  const login = toMessengerLogin(messengerId);
  const userId = await findUserOfMessenger(ctx, messengerId);
  const ownAccount = await findAccountByLogin(ctx, login);
  const claimedFrom = (await findPendingClaim(ctx, login))?.claim?.dueAt ?? null;
  return {
    userId,
    isLogin: ownAccount !== null && ownAccount.userId === (userId ?? ownAccount.userId),
    claimedFrom,
  };
}

/** `readChatAccount` for actions. */
export const getChatAccount = internalQuery({
  args: { messengerId: v.string() },
  returns: vChatAccount,
  handler: (ctx, { messengerId }) => readChatAccount(ctx, messengerId),
});

const CODE_MS = 10 * MINUTE;

/**
 * Creates the code that lets another login take the place of a chat. It is valid for ten minutes and one use, and
 * replaces an earlier one.
 * @returns The code, as its card has it.
 * @throws AppError `conflict` if the chat is not the login; `paused` while the account is frozen; `rate_limited`.
 */
export const createLoginCode = internalMutation({
  args: { userId: v.string(), messengerId: v.string() },
  returns: vSecret,
  handler: async (ctx, { userId, messengerId }) => {
    if (!(await isLogin(ctx, userId, messengerId)))
      throw new AppError(
        "conflict",
        "This chat is linked to your account and is not its login: send /login in the chat that is, or set another in the web application",
      );
    await charge(ctx, "settings", { userId, address: null });
    await requireUnfrozenRules(ctx, userId);
    const { secret, text } = createSecret("login");
    const codeHash = hashCode(text);
    await replaceCode(ctx, { kind: "login", userId, codeHash, expiresAt: Date.now() + CODE_MS });
    return secret;
  },
});

/**
 * Opens the change of login that a code allows, or previews it (`isConfirmed: false`). The caller, signed in to the web
 * application or writing in a private chat, becomes the login two hours from now. Every channel of the account is
 * notified, and a freeze cancels the change. Idempotent.
 * @param args.messengerId The chat; absent: the signed-in caller.
 * @returns The account's pseudonym, and when the change takes effect (epoch ms).
 * @throws AppError `not_found` for a code that is unknown, expired or used; `conflict` if the login cannot own the
 * account, or another change is pending; `paused` while the account is frozen.
 */
export const redeemLoginCode = internalMutation({
  args: { codeHash: v.string(), messengerId: v.optional(v.string()), isConfirmed: v.boolean() },
  returns: v.object({ account: v.string(), from: v.number() }),
  handler: async (ctx, { codeHash, messengerId, isConfirmed }) => {
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
    if (row.login === login)
      throw new AppError(
        "conflict",
        "This chat is the login of the account already: there is nothing to change",
      );
    if (claim?.login !== undefined)
      throw new AppError(
        "conflict",
        `Another change of login is pending until ${formatDateTime(claim.dueAt)}: a freeze cancels it`,
      );
    const refusal = await findLoginConflict(ctx, userId, login);
    if (refusal !== null) throw new AppError("conflict", refusal);
    const from = now + RELAXATION_MS;
    if (!isConfirmed) return { account: derivePseudonym(userId), from };
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
