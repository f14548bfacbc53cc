import { v, type Infer } from "convex/values";
import { getOneFrom } from "convex-helpers/server/relationships";
import { internal } from "../_generated/api";
import { internalMutation, type MutationCtx, type QueryCtx } from "../_generated/server";
import { defineMutation } from "../platform/changes";
import { endStandingOrders } from "../alerts/model";
import { AppError } from "../lib/errors";
import { log } from "../lib/log";
import { requireIdentity } from "../platform/limits/callers";
import { DAY, formatDateTime, HOUR } from "../lib/time";
import { toChatUser, enqueueCard, findUserOfMessenger, withdrawCode } from "../messenger/model";
import { endEveryLink, linkOwner } from "../messenger/linking";
import { removeSettings } from "../messenger/notices";
import { findWallet } from "../wallets/model";
import { isInUse } from "./data";
import {
  type Account,
  changeRules,
  resolveAccount,
  findAccount,
  findAccountByLogin,
  getClaimDueAt,
  RELAXATION_MS,
  toMessengerLogin,
  parseMessengerLogin,
  saveAccount,
  isGuessableId,
  parseUserId,
} from "../identity/model";
import { announce, type AccountNotice, cancelPendingRelaxations, revokeKeys } from "./freeze";
import { vClaimed } from "../identity/tables";
import { explainUnclaimable } from "../identity/access";

/**
 * Ownership of accounts: the first claim of a free id wins, by a login of the web application or a tap on a link in the
 * service's bot. One transaction decides. If others may rely on the id's wallet by now, the claim is pending for 48 hours;
 * until then the id stays free, and any caller that knows it can end the claim.
 */

/** Long enough for a person to read a notice, whatever the day. */
const CLAIM_MS = 48 * HOUR;

/** Others cannot rely on a younger wallet yet: whoever made it could have claimed the id just before. */
const NEW_WALLET_MS = HOUR;

/** How long an id cannot be claimed after an ended claim: each claim costs its users' attention. */
const UNCLAIMABLE_MS = 7 * DAY;

/** The condition on the account made at sign-in, which the claimed account replaces. */
const STAY_EMPTY =
  "Until then the account that you have by your sign-in has to stay empty: a game, a deposit or a linked chat of its own would end the claim";

/**
 * Claims a `userId` for the caller; a repeat returns the status of the claim.
 * @throws AppError as `openClaim`; `not_found`, `invalid_request`.
 */
export const claimAccount = internalMutation({
  args: { userId: v.string() },
  returns: vClaimed,
  handler: async (ctx, args): Promise<Infer<typeof vClaimed>> => {
    const { tokenIdentifier: login } = await requireIdentity(ctx);
    const name = parseUserId(args.userId);
    const { userId } = await resolveAccount(ctx, name);
    const waits = await openClaim(ctx, userId, login);
    if (waits === null) return { userId: name, pendingUntil: null };
    const note = `${waits.why}, so the claim takes effect on ${formatDateTime(waits.until)}. ${STAY_EMPTY}`;
    return { userId: name, pendingUntil: waits.until, note };
  },
});

/** The end of a claim's wait (epoch ms), and its reason as the first half of a sentence. */
type Wait = { until: number; why: string };

/**
 * @param isConfirmed `false` previews the claim.
 * @returns What the claim waits for; `null` if it has taken effect.
 * @throws AppError `conflict` if the login cannot own the id.
 */
async function openClaim(
  ctx: MutationCtx,
  userId: string,
  login: string,
  isConfirmed = true,
): Promise<Wait | null> {
  const row = await findAccount(ctx, userId);
  if (row?.login === login) return null;
  const why = await explainWait(ctx, userId);
  if (row?.claim?.login === login) return { until: row.claim.dueAt, why: why ?? DEFAULT_REASON };
  const refusal = explainUnclaimable(row) ?? (await findLoginConflict(ctx, userId, login));
  if (refusal !== null) throw new AppError("conflict", refusal);
  if (why === null) {
    if (isConfirmed) await bindOwner(ctx, userId, login);
    return null;
  }
  const dueAt = Date.now() + CLAIM_MS;
  if (isConfirmed)
    await openPendingClaim(ctx, userId, { login, dueAt }, [
      "🔐 Somebody wants to own your account",
      `Its id has a wallet, so the claim waits until ${formatDateTime(dueAt)}. Then the wallet, and what is in it, is theirs, and what is set on the id ends.`,
      "If that is not you: every answer to the id has a link, claimEndUrl, that ends the claim. Nobody can claim the id for a week then. Use the week to move what it holds, and own it yourself then.",
    ]);
  return { until: dueAt, why };
}

const DEFAULT_REASON = "Others may rely on its wallet";

/**
 * The reason for a claim to wait: others may rely on the id's wallets, basic or custody, by now. `null` if it need not
 * wait.
 */
async function explainWait(ctx: QueryCtx, userId: string): Promise<string | null> {
  const basic = await findWallet(ctx, userId, "basic");
  const custody = await findWallet(ctx, userId, "custody");
  if (basic === null && custody === null) return null;
  if (isGuessableId(userId))
    return "The account has a wallet, and its id is short enough for others to guess";
  const madeAt = Math.min(basic?._creationTime ?? Infinity, custody?._creationTime ?? Infinity);
  return madeAt > Date.now() - NEW_WALLET_MS ? null : "The account's wallet is more than an hour old";
}

/** Stores a pending claim or change of login, and notifies the account. */
export async function openPendingClaim(
  ctx: MutationCtx,
  userId: string,
  claim: { login: string; dueAt: number; asked?: true },
  notice: AccountNotice,
): Promise<void> {
  await saveAccount(ctx, userId, { claim, ownerCode: undefined });
  await ctx.scheduler.runAt(claim.dueAt, internal.accounts.claims.completeClaim, { userId });
  await announce(ctx, userId, notice);
}

/** Why a login cannot own the account; `null` if it can. */
export async function findLoginConflict(
  ctx: QueryCtx,
  userId: string,
  login: string,
): Promise<string | null> {
  const ownAccount = await findAccountByLogin(ctx, login);
  if (ownAccount?.claimed === true)
    return "You own another userId already, and a login or a chat can own only one: claim with another login";
  if (ownAccount !== null && (await isInUse(ctx, ownAccount.userId))) return OWN_ROWS;
  const waiting = await findPendingClaim(ctx, login);
  if (waiting !== null && waiting.userId !== userId)
    return "You have a pending claim of another userId, and a login can own only one: end that claim first, or claim with another login";
  const messengerId = parseMessengerLogin(login);
  if (messengerId === null) return null;
  const linkedUser = await findUserOfMessenger(ctx, messengerId);
  if (linkedUser === null || linkedUser === userId) return null;
  return "This messenger account is linked to another userId: unlink it there first";
}

/** The claimed account replaces the one made at sign-in, and keeps its own rows. */
const OWN_ROWS =
  "The account that you have by your sign-in has rows of its own, such as credits, a game or a linked chat, and the claim would take its place. Claim with another login, or empty that account first";

/** The account of a login's pending claim, or of an operator's pending change of login. */
export async function findPendingClaim(ctx: QueryCtx, login: string): Promise<Account | null> {
  return getOneFrom(ctx.db, "accounts", "by_claimer", login, "claim.login");
}

/** Carries out a claim, or an operator's change, whose time has come, if its login can still own the account. */
export const completeClaim = defineMutation({ userId: v.string() }, async (ctx, { userId }) => {
  const row = await findAccount(ctx, userId);
  const { login, dueAt = 0 } = row?.claim ?? {};
  if (login === undefined || dueAt > Date.now()) return;
  const refusal = await findLoginConflict(ctx, userId, login);
  if (refusal === null) {
    await bindOwner(ctx, userId, login);
    const isAsked = row?.claim?.asked === true;
    const title = `🔐 The account that you have ${isAsked ? "asked for" : "claimed"} is yours now`;
    return notifyChat(ctx, login, title, isAsked ? LOGIN_HERE : OWNED);
  }
  await saveAccount(ctx, userId, { claim: undefined });
  log.warn("account.claim refused", { account: row?._id, reason: refusal });
  const isClaim = row?.login === undefined;
  await announce(ctx, userId, [
    isClaim ? "🔐 The claim of your account has failed" : "🔐 Your account keeps its login",
    isClaim
      ? "Whoever claimed it cannot own it. It has no owner, and can be claimed again."
      : "The login that it was to get cannot own it by now: name another one.",
  ]);
  await notifyClaimer(ctx, login, `${refusal.replaceAll("userId", "account id")}.`);
});

const LOGIN_HERE =
  "This chat is its login. Another chat is still linked to it and approves its orders: send /start to use the account here in its place.";

/** What an owner by a chat has. */
export const OWNED =
  "It is yours. From now on, whoever only knows the account id moves none of its money, and changes nothing about where its cards go, without your tap here.";

/** Notifies the claimer of a failed claim: on the login's own account, or in the chat that is the login. */
async function notifyClaimer(ctx: MutationCtx, login: string, why: string): Promise<void> {
  const title = "🔐 Your claim of an account id has failed";
  const ownAccount = await findAccountByLogin(ctx, login);
  if (ownAccount !== null) await announce(ctx, ownAccount.userId, [title, why]);
  await notifyChat(ctx, login, title, why);
}

/** Notifies the chat of a messenger login. A login of the web application has none. */
async function notifyChat(ctx: MutationCtx, login: string, title: string, text: string): Promise<void> {
  const chatId = parseMessengerLogin(login);
  if (chatId === null) return;
  const userId = (await findUserOfMessenger(ctx, chatId)) ?? toChatUser(chatId);
  const to = { userId, chatId, bot: "default" } as const;
  await enqueueCard(ctx, { ...to, kind: "account", paragraphs: [[{ bold: title }], [text]] });
}

/** Makes a login the owner, in place of its own unused account. Settings of earlier users of the id end. */
async function bindOwner(ctx: MutationCtx, userId: string, login: string): Promise<void> {
  const { login: former, claim } = (await findAccount(ctx, userId)) ?? {};
  const keepsLinks = former !== undefined && claim?.asked === true;
  // Before the chat's link ends, so that the chat is told too.
  if (former !== undefined) await endStandingOrders(ctx, userId, "the account has another login");
  if (keepsLinks) {
    const kept = "Its wallet, keys and linked chat stay. The earlier login is one no more.";
    await announce(ctx, userId, ["🔐 Your account has another login", kept]);
  } else if (former === undefined) {
    await announce(ctx, userId, ["🔐 Your account id has an owner now", "What it has belongs to them."]);
    await removeSettings(ctx, userId);
    await ctx.runMutation(internal.alerts.proposals.endAllAlerts, { userId });
    await ctx.runMutation(internal.research.shifts.stop, { userId });
  } else {
    // Before the chat's link ends, so that the chat is notified too.
    const ended = "The old one's keys, open orders and linked chat have ended.";
    await announce(ctx, userId, ["🔐 Your account has another login", ended]);
    await revokeKeys(ctx, userId);
    // The formerly linked messenger account, or the former login, may be compromised.
    await endEveryLink(ctx, userId);
  }
  const ownAccount = await findAccountByLogin(ctx, login);
  if (ownAccount !== null) await ctx.db.delete("accounts", ownAccount._id);
  const change = keepsLinks ? changeRules : cancelPendingRelaxations;
  await change(ctx, userId, {
    login,
    claimed: true,
    claim: undefined,
    ownerCode: undefined,
  });
  await withdrawCode(ctx, userId, "login");
  const messengerId = parseMessengerLogin(login);
  if (messengerId !== null && !keepsLinks) await linkOwner(ctx, userId, messengerId);
}

/**
 * Ends a pending claim at the request of any caller that knows the id, which stays free. @throws AppError `not_found`
 */
export const endClaim = defineMutation({ name: v.string() }, async (ctx, { name }) => {
  const { userId, row } = await resolveAccount(ctx, name);
  if (getClaimDueAt(row) === null)
    throw new AppError("not_found", "There is no pending claim of this userId: there is nothing to end");
  const { login = "" } = row?.claim ?? {};
  await saveAccount(ctx, userId, { claim: { dueAt: Date.now() + UNCLAIMABLE_MS } });
  await notifyClaimer(
    ctx,
    login,
    "Somebody who knows the id has ended it. It can be claimed again in a week.",
  );
  await announce(ctx, userId, ["🔐 The claim of your account has ended", "Nobody can claim it for a week."]);
});

/**
 * Previews the claim of a link in the bot or, after a tap, makes it.
 * @returns The account, and the claim's wait; `null` if it has taken effect, or would.
 * @throws AppError `conflict` as a claim; `not_found` for a link that is no longer valid.
 */
export async function claimByLink(
  ctx: MutationCtx,
  code: string,
  messengerId: string,
  isConfirmed: boolean,
): Promise<{ userId: string; waits: Wait | null }> {
  const row = await getOneFrom(ctx.db, "accounts", "by_ownerCode", code);
  if (row === null)
    throw new AppError("not_found", "This link is no longer valid: connect the wallet again for a new one");
  const { userId } = row;
  return { userId, waits: await openClaim(ctx, userId, toMessengerLogin(messengerId), isConfirmed) };
}

/**
 * For a lost login: an operator gives the account another one, two hours from now, and every link ends. A freeze by the old
 * login cancels the change; a freeze from a chat does not.
 * `npx convex run --prod accounts/claims:changeLogin '{"userId":"…","login":"<issuer>|<subject>","reason":"…"}'`.
 * @returns When it takes effect, epoch ms.
 * @throws AppError `not_found` without an owner; `conflict` if the new login cannot own it.
 */
export const changeLogin = internalMutation({
  args: { userId: v.string(), login: v.string(), reason: v.string() },
  returns: v.number(),
  handler: async (ctx, { userId: name, login, reason }) => {
    const { userId, row } = await resolveAccount(ctx, name);
    if (row?.login === undefined)
      throw new AppError("not_found", "This userId has no owner: its first owner claims it");
    if (!login.includes("|")) throw new AppError("invalid_request", "login must be <issuer>|<subject>");
    const refusal = await findLoginConflict(ctx, userId, login);
    if (refusal !== null) throw new AppError("conflict", refusal);
    log.warn("account.login changes", { account: row._id, reason });
    const dueAt = Date.now() + RELAXATION_MS;
    await openPendingClaim(ctx, userId, { login, dueAt }, [
      "🔐 Your account will get another login",
      `The people who run this service were told that your login is lost. From ${formatDateTime(dueAt)} on your account and its wallets are another one's, and its keys and linked chat end.`,
      "If that is wrong, sign in to the web application before then and freeze your account, or write to them: a freeze from a chat does not stop it.",
    ]);
    return dueAt;
  },
});
