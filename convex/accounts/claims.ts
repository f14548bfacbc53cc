import { v, type Infer } from "convex/values";
import { getOneFrom } from "convex-helpers/server/relationships";
import { internal } from "../_generated/api";
import { internalMutation, internalQuery, type MutationCtx, type QueryCtx } from "../_generated/server";
import { change } from "../lib/changes";
import { optional } from "../lib/env";
import { AppError } from "../lib/errors";
import { log } from "../lib/log";
import { userIdFrom } from "../lib/records";
import { requireIdentity } from "../lib/limits/callers";
import { DAY, dateTime, HOUR } from "../lib/time";
import { chatUser, enqueueCard, userOfAccount } from "../messenger/model";
import { hasRows, isInUse } from "./data";
import {
  type Account,
  accountNamed,
  accountOf,
  accountOfLogin,
  announce,
  cancelLooser,
  claimDueAt,
  endKeys,
  LOOSENING_MS,
  loginOf,
  messengerOf,
  randomHex,
  saveAccount,
  type Told,
} from "./model";
import { vClaimed } from "./tables";

/**
 * Who owns an account: the first who knows a free id and claims it, by a login of the web application or by a tap on a
 * link in the service's bot. One transaction decides. If the id had a wallet, the claim waits for 48 hours; until then
 * the id stays free, and anybody who knows it can end the claim.
 */

/** Long enough for a person to read a notice, whatever the day. */
const CLAIM_MS = 48 * HOUR;
/** How long nobody can claim an id after somebody has ended a claim, because each one needs their attention. */
const REST_MS = 7 * DAY;

/** Of the account made at sign-in, in whose place the claimed one comes. */
const STAY_EMPTY =
  "Until then the account that you have by your sign-in has to stay empty: a game, a deposit or a linked chat of its own would end the claim";

/** The caller claims a `userId`; repeating it says how the claim stands. @throws AppError as `claimFor`; `not_found`, `invalid_request`. */
export const claim = internalMutation({
  args: { userId: v.string() },
  returns: vClaimed,
  handler: async (ctx, args): Promise<Infer<typeof vClaimed>> => {
    const { tokenIdentifier: login } = await requireIdentity(ctx);
    const name = userIdFrom(args.userId);
    const { userId } = await accountNamed(ctx, name);
    const pendingUntil = await claimFor(ctx, userId, login);
    return { userId: name, pendingUntil, ...(pendingUntil === null ? {} : { note: STAY_EMPTY }) };
  },
});

/**
 * @param isMeant Otherwise the claim is only looked at.
 * @returns When the claim takes effect (epoch ms); `null` if it has.
 * @throws AppError `conflict` if the login cannot own the id.
 */
async function claimFor(
  ctx: MutationCtx,
  userId: string,
  login: string,
  isMeant = true,
): Promise<number | null> {
  const row = await accountOf(ctx, userId);
  if (row?.login === login) return null;
  if (row?.claim?.login === login) return row.claim.dueAt;
  const refusal = takenBy(row) ?? (await refusalOf(ctx, userId, login));
  if (refusal !== null) throw new AppError("conflict", refusal);
  const dueAt = (await hasRows(ctx, "wallets", userId)) ? Date.now() + CLAIM_MS : null;
  if (!isMeant) return dueAt;
  if (dueAt === null) await bind(ctx, userId, login);
  else
    await wait(ctx, userId, { login, dueAt }, [
      "🔐 Somebody wants to own your account",
      `Its id has a wallet, so the claim waits until ${dateTime(dueAt)}. Then the wallet, and what is in it, is theirs, and what is set on the id ends.`,
      "If that is not you: every answer to the id has a link, claimEndUrl, that ends the claim. Nobody can claim the id for a week then. Use the week to move what it holds, and own it yourself then.",
    ]);
  return dueAt;
}

/** Lets a login wait for an account, which is told. */
async function wait(
  ctx: MutationCtx,
  userId: string,
  claim: { login: string; dueAt: number },
  told: Told,
): Promise<void> {
  await saveAccount(ctx, userId, { claim, ownerCode: undefined });
  await ctx.scheduler.runAt(claim.dueAt, internal.accounts.claims.settle, { userId });
  await announce(ctx, userId, told);
}

/** Why nobody can claim an account now: its owner, a claim that waits, or the week after one was ended; `null`: somebody can. */
function takenBy(row: Account | null): string | null {
  if (row?.login !== undefined) return "This userId has an owner already";
  const { login, dueAt = 0 } = row?.claim ?? {};
  if (login !== undefined) return `Another claim of this userId waits until ${dateTime(dueAt)}`;
  if (dueAt <= Date.now()) return null;
  return `A claim of this userId was ended: it can be claimed again from ${dateTime(dueAt)}`;
}

/** Why a login can own no other account than it has, or none but another one; `null` if it can. */
async function refusalOf(ctx: QueryCtx, userId: string, login: string): Promise<string | null> {
  const own = await accountOfLogin(ctx, login);
  if (own?.claimed === true) return "You own another userId already: a login or a chat owns one in all";
  if (own !== null && (await isInUse(ctx, own.userId))) return OWN_ROWS;
  const waiting = await waitingFor(ctx, login);
  if (waiting !== null && waiting.userId !== userId)
    return "A claim of another userId waits for you: a login owns one in all";
  const messengerId = messengerOf(login);
  if (messengerId === null) return null;
  const linked = await ctx.runQuery(internal.messenger.linking.find, { messengerId });
  if (linked?.confirmed !== true || linked.userId === userId) return null;
  return "This messenger account is linked to another userId";
}

/** A claim takes the place of the account made at sign-in, not of the one that is claimed: what is in that stays. */
const OWN_ROWS =
  "The account that you have by your sign-in has rows of its own, such as credits, a game or a linked chat, and the claim would take its place. Claim with another login, or empty that account first";

/** The account that a login waits for: its own claim, or what an operator has decided. */
async function waitingFor(ctx: QueryCtx, login: string): Promise<Account | null> {
  return getOneFrom(ctx.db, "accounts", "by_claimer", login, "claim.login");
}

/** Carries out a claim, or an operator's change, whose time has come, if its login can still own the account. */
export const settle = change({ userId: v.string() }, async (ctx, { userId }) => {
  const row = await accountOf(ctx, userId);
  const { login, dueAt = 0 } = row?.claim ?? {};
  if (login === undefined || dueAt > Date.now()) return;
  const refusal = await refusalOf(ctx, userId, login);
  if (refusal === null) return bind(ctx, userId, login);
  await saveAccount(ctx, userId, { claim: undefined });
  log.warn("account.claim refused", { account: row?._id, reason: refusal });
  const isClaim = row?.login === undefined;
  await announce(ctx, userId, [
    isClaim ? "🔐 The claim of your account has failed" : "🔐 Your account keeps its login",
    isClaim
      ? "Whoever claimed it cannot own it. It has no owner, and can be claimed again."
      : "The login that it was to get cannot own it: the people who run this service can name another one.",
  ]);
  await tellClaimer(ctx, login, refusal);
});

/** A claim that fails is no secret to who has made it: the login's own account is told, or the chat that is the login. */
async function tellClaimer(ctx: MutationCtx, login: string, refusal: string): Promise<void> {
  const title = "🔐 Your claim of an account id has failed";
  const why = `${refusal.replaceAll("userId", "account id")}.`;
  const own = await accountOfLogin(ctx, login);
  if (own !== null) await announce(ctx, own.userId, [title, why]);
  const chatId = messengerOf(login);
  if (chatId === null) return;
  const userId = (await userOfAccount(ctx, chatId)) ?? chatUser(chatId);
  const to = { userId, chatId, bot: "default" } as const;
  await enqueueCard(ctx, { ...to, kind: "account", paragraphs: [[{ bold: title }], [why]] });
}

/** Makes a login the owner, in place of the account of its own, which is not in use. What others have set ends. */
async function bind(ctx: MutationCtx, userId: string, login: string): Promise<void> {
  const former = (await accountOf(ctx, userId))?.login;
  if (former === undefined) {
    await announce(ctx, userId, ["🔐 Your account id has an owner now", "What it has belongs to them."]);
    await ctx.runMutation(internal.messenger.notices.endAll, { userId });
    await ctx.runMutation(internal.alerts.model.endAll, { userId });
    await ctx.runMutation(internal.research.shifts.stop, { userId });
  } else {
    // Before the chat's link ends, which hears of it, too.
    const ended = "The old one's keys, open orders and linked chat have ended.";
    await announce(ctx, userId, ["🔐 Your account has another login", ended]);
    await endKeys(ctx, userId);
    // The messenger account that was linked, or was the login, may be in others' hands.
    await ctx.runMutation(internal.messenger.linking.endAll, { userId });
  }
  const own = await accountOfLogin(ctx, login);
  if (own !== null) await ctx.db.delete("accounts", own._id);
  await cancelLooser(ctx, userId, { login, claimed: true, claim: undefined, ownerCode: undefined });
  const messengerId = messengerOf(login);
  if (messengerId !== null) await ctx.runMutation(internal.messenger.linking.own, { userId, messengerId });
}

/** Anybody who knows an id ends a claim of it that waits: it stays free. @throws AppError `not_found` */
export const end = change({ name: v.string() }, async (ctx, { name }) => {
  const { userId, row } = await accountNamed(ctx, name);
  if (claimDueAt(row) === null) throw new AppError("not_found", "No claim of this userId waits");
  await saveAccount(ctx, userId, { claim: { dueAt: Date.now() + REST_MS } });
  await announce(ctx, userId, ["🔐 The claim of your account has ended", "Nobody can claim it for a week."]);
});

/** When a messenger account owns the id that it has claimed (epoch ms); `null` if none waits for it. */
export const pendingFor = internalQuery({
  args: { messengerId: v.string() },
  returns: v.union(v.number(), v.null()),
  handler: async (ctx, { messengerId }) => claimDueAt(await waitingFor(ctx, loginOf(messengerId))),
});

/**
 * The link by which somebody owns a free `userId` in the service's bot; it works once. `null` if the id has an owner, or
 * nobody can claim it now, or the operator has not named the bot (`MESSENGER_BOT_NAME`).
 */
export const ownerLink = internalMutation({
  args: { userId: v.string() },
  returns: v.union(v.string(), v.null()),
  handler: async (ctx, { userId }) => {
    const bot = optional("MESSENGER_BOT_NAME");
    const row = await accountOf(ctx, userId);
    if (bot === undefined || takenBy(row) !== null) return null;
    const ownerCode = row?.ownerCode ?? randomHex(12);
    if (row?.ownerCode === undefined) await saveAccount(ctx, userId, { ownerCode });
    return `https://t.me/${bot}?start=own_${ownerCode}`;
  },
});

/**
 * A link in the bot: what it offers to a messenger account or, with a tap on it, the claim.
 * @returns The account, and when it is theirs (epoch ms); `null`: at once.
 * @throws AppError `conflict` as a claim; `not_found` for a link that is no longer valid.
 */
export const own = internalMutation({
  args: { code: v.string(), messengerId: v.string(), isTap: v.boolean() },
  returns: v.object({ userId: v.string(), from: v.union(v.number(), v.null()) }),
  handler: async (ctx, { code, messengerId, isTap }) => {
    const row = await getOneFrom(ctx.db, "accounts", "by_ownerCode", code);
    if (row === null)
      throw new AppError("not_found", "This link is no longer valid: connect the wallet again for a new one");
    return { userId: row.userId, from: await claimFor(ctx, row.userId, loginOf(messengerId), isTap) };
  },
});

/**
 * A lost login: an operator who knows whose account it is gives it another one, two hours from now, and every link ends; a
 * freeze by the login itself takes that back, none by a chat.
 * `npx convex run --prod accounts/claims:changeLogin '{"userId":"…","login":"<issuer>|<subject>","reason":"…"}'`.
 * @returns When it takes effect, epoch ms.
 * @throws AppError `not_found` without an owner; `conflict` if the new login cannot own it.
 */
export const changeLogin = internalMutation({
  args: { userId: v.string(), login: v.string(), reason: v.string() },
  returns: v.number(),
  handler: async (ctx, { userId: name, login, reason }) => {
    const { userId, row } = await accountNamed(ctx, name);
    if (row?.login === undefined) throw new AppError("not_found", "This userId has no owner");
    if (!login.includes("|")) throw new AppError("invalid_request", "login must be <issuer>|<subject>");
    const refusal = await refusalOf(ctx, userId, login);
    if (refusal !== null) throw new AppError("conflict", refusal);
    log.warn("account.login changes", { account: row._id, reason });
    const dueAt = Date.now() + LOOSENING_MS;
    await wait(ctx, userId, { login, dueAt }, [
      "🔐 Your account will get another login",
      `The people who run this service were told that your login is lost. From ${dateTime(dueAt)} on your account and its wallets are another one's, and its keys and linked chat end.`,
      "If that is wrong, sign in to the web application before then and freeze your account, or write to them: a freeze from a chat does not stop it.",
    ]);
    return dueAt;
  },
});
