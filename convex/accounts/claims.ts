import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import { v } from "convex/values";
import { getOneFrom } from "convex-helpers/server/relationships";
import { internal } from "../_generated/api";
import type { TableNames } from "../_generated/dataModel";
import { internalMutation, internalQuery, type MutationCtx, type QueryCtx } from "../_generated/server";
import { change } from "../lib/changes";
import { optional, required } from "../lib/env";
import { AppError } from "../lib/errors";
import { log } from "../lib/log";
import { userIdFrom, tablesOf, type TableRecord } from "../lib/records";
import { requireIdentity } from "../lib/limits/callers";
import { hmacSha256, masterKey, subkey } from "../lib/security/crypto";
import { DAY, dateTime, HOUR } from "../lib/time";
import { records } from "../schema";
import {
  accountNamed,
  accountOf,
  accountOfLogin,
  announce,
  cancelLooser,
  changeRules,
  keysOf,
  LOOSENING_MS,
  loginOf,
  messengerOf,
  NOT_YOU,
  ownerOf,
  saveAccount,
} from "./model";

/**
 * Who owns an account: the first who knows a free id and claims it, by a login of the web application or by a tap on a
 * link in the service's bot. One transaction decides. If the id had a wallet, the claim waits for 48 hours; until then
 * the id stays free, and anybody who knows it can end the claim.
 */

/** Long enough for a person to read a notice, whatever the day. */
const CLAIM_MS = 48 * HOUR;
/** How long nobody can claim an id after somebody has ended a claim, because each one needs their attention. */
const REST_MS = 7 * DAY;

const vClaimed = v.object({
  userId: v.string(),
  /** When the claim takes effect (epoch ms); `null` if it has. */
  pendingUntil: v.union(v.number(), v.null()),
});

/** The caller claims a `userId`; repeating it says how the claim stands. @throws AppError as `claimFor`; `not_found`, `invalid_request`. */
export const claim = internalMutation({
  args: { userId: v.string() },
  returns: vClaimed,
  handler: async (ctx, args) => {
    const { tokenIdentifier: login } = await requireIdentity(ctx);
    const name = userIdFrom(args.userId);
    const found = await accountNamed(ctx, name);
    if (found === null) throw new AppError("not_found", "There is no such userId");
    const { userId, row } = found;
    if (row?.login !== login) return { userId: name, pendingUntil: await claimFor(ctx, userId, login) };
    if (!row.claimed) await saveAccount(ctx, userId, { claimed: true });
    return { userId: name, pendingUntil: null };
  },
});

/**
 * @returns When the claim takes effect (epoch ms); `null` if it has.
 * @throws AppError `conflict` if the login cannot own the id, another claim of it waits, or one was ended within a week.
 */
async function claimFor(ctx: MutationCtx, userId: string, login: string): Promise<number | null> {
  const now = Date.now();
  const refusal = await refusalOf(ctx, login, userId);
  if (refusal !== null) throw new AppError("conflict", refusal);
  const row = await accountOf(ctx, userId);
  if (row?.claim?.login === login && row.claim.dueAt > now) return row.claim.dueAt;
  if (row?.claim !== undefined && row.claim.login !== login)
    throw new AppError("conflict", `Another claim of this userId waits until ${dateTime(row.claim.dueAt)}`);
  if ((row?.restsUntil ?? 0) > now)
    throw new AppError(
      "conflict",
      `A claim of this userId was ended: it can be claimed again from ${dateTime(row?.restsUntil ?? 0)}`,
    );
  const waiting = await getOneFrom(ctx.db, "accounts", "by_claimer", login, "claim.login");
  if (waiting !== null && waiting.userId !== userId)
    throw new AppError("conflict", "A claim of another userId waits for you: a login owns one in all");
  if (row?.claim !== undefined || !(await hasRows(ctx, "wallets", userId))) {
    await bind(ctx, userId, login);
    return null;
  }
  const dueAt = now + CLAIM_MS;
  await saveAccount(ctx, userId, { claim: { login, dueAt }, ownerCode: undefined });
  await ctx.scheduler.runAt(dueAt, internal.accounts.claims.settle, { userId });
  await announce(
    ctx,
    userId,
    "🔐 Somebody wants to own your account",
    `Its id has a wallet, so the claim waits until ${dateTime(dueAt)}. Then the wallet, and what is in it, is theirs, and what is set on the id ends.`,
    "If that is not you: every answer to the id has a link, claimEndUrl, that ends the claim. Nobody can claim the id for a week then. Use the week to own it yourself, or to move what it holds.",
  );
  return dueAt;
}

/** Why a login cannot own a `userId`; `null` if it can. */
async function refusalOf(ctx: QueryCtx, login: string, userId: string): Promise<string | null> {
  if ((await accountOfLogin(ctx, login))?.claimed === true)
    return "You own another userId already: a login or a chat owns one in all";
  if ((await ownerOf(ctx, userId)) !== null) return "This userId has an owner already";
  return (await isTaken(ctx, login)) ? "Your account already has rows of its own, such as credits" : null;
}

/**
 * Makes a login the owner of a free account. What others may have set on it ends, and is told once.
 * @throws AppError `conflict` if the login is a messenger account that is another user's by now.
 */
async function bind(ctx: MutationCtx, userId: string, login: string): Promise<void> {
  await announce(
    ctx,
    userId,
    "🔐 Your account id has an owner now",
    "Somebody who knows it has become its owner: from now on what it has belongs to them.",
  );
  await ctx.runMutation(internal.messenger.notices.endAll, { userId });
  await ctx.runMutation(internal.alerts.model.endAll, { userId });
  await ctx.runMutation(internal.research.shifts.stop, { userId });
  await takeOver(ctx, userId, login);
  const messengerId = messengerOf(login);
  if (messengerId !== null) await ctx.runMutation(internal.messenger.linking.own, { userId, messengerId });
}

/** Carries out a claim whose time is over, if its login can still own the id. */
export const settle = change({ userId: v.string() }, async (ctx, { userId }) => {
  const row = await accountOf(ctx, userId);
  if (row?.claim === undefined || row.claim.dueAt > Date.now()) return;
  const { login } = row.claim;
  const refusal = (await refusalOf(ctx, login, userId)) ?? (await linkedElsewhere(ctx, login));
  if (refusal === null) return bind(ctx, userId, login);
  await saveAccount(ctx, userId, { claim: undefined });
  log.warn("account.claim refused", { account: row._id, reason: refusal });
});

/** Why a messenger account cannot own an id: it is linked to another; `null` if it can. */
async function linkedElsewhere(ctx: MutationCtx, login: string): Promise<string | null> {
  const messengerId = messengerOf(login);
  const linked =
    messengerId === null ? null : await ctx.runQuery(internal.messenger.linking.find, { messengerId });
  return linked?.confirmed === true ? "This messenger account is linked to another userId" : null;
}

/** Anybody who knows an id ends a claim of it that waits: it stays free. @throws AppError `not_found` */
export const end = change({ name: v.string() }, async (ctx, { name }) => {
  const row = (await accountNamed(ctx, name))?.row;
  if (row?.claim === undefined) throw new AppError("not_found", "No claim of this userId waits");
  const { userId } = row;
  await saveAccount(ctx, userId, { claim: undefined, restsUntil: Date.now() + REST_MS });
  await announce(
    ctx,
    userId,
    "🔐 The claim of your account has ended",
    "It stays as it was, and nobody can claim it for a week.",
  );
});

/** Precedes the code in a link's `start` parameter. */
const PREFIX = "own_";
/** 32 characters without 0, 1, I and O, so that a byte's low five bits choose one evenly. */
const ALPHABET = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ";
/** 60 bits. */
const CODE_LENGTH = 12;

/**
 * The link by which somebody owns a free `userId` in the service's bot; it works once. `null` if the id has an owner or a
 * claim, or the operator has not named the bot (`MESSENGER_BOT_NAME`).
 */
export const ownerLink = internalMutation({
  args: { userId: v.string() },
  returns: v.union(v.string(), v.null()),
  handler: async (ctx, { userId }) => {
    const bot = optional("MESSENGER_BOT_NAME");
    const row = await accountOf(ctx, userId);
    if (bot === undefined || row?.login !== undefined || row?.claim !== undefined) return null;
    const bytes = hmacSha256(key(), utf8ToBytes(`code ${userId}`)).slice(0, CODE_LENGTH);
    const code = Array.from(bytes, (byte) => ALPHABET.charAt(byte & 31)).join("");
    const ownerCode = codeHash(code);
    if (row?.ownerCode !== ownerCode) await saveAccount(ctx, userId, { ownerCode });
    return `https://t.me/${bot}?start=${PREFIX}${code}`;
  },
});

/** The free account that a link offers; or why it offers none, in words. */
export const offered = internalQuery({
  args: { code: v.string(), messengerId: v.string() },
  returns: v.union(v.object({ userId: v.string(), waits: v.boolean() }), v.object({ refusal: v.string() })),
  handler: async (ctx, { code, messengerId }) => {
    const userId = await userIdOf(ctx, code);
    if (userId === null) return { refusal: LATE };
    const refusal = await refusalOf(ctx, loginOf(messengerId), userId);
    return refusal === null ? { userId, waits: await hasRows(ctx, "wallets", userId) } : { refusal };
  },
});

/**
 * The tap on a link: the messenger account becomes the owner.
 * @returns When, epoch ms; `null`: it has.
 * @throws AppError `conflict` as a claim; `not_found` for a link that is no longer valid.
 */
export const own = internalMutation({
  args: { code: v.string(), messengerId: v.string() },
  returns: v.union(v.number(), v.null()),
  handler: async (ctx, { code, messengerId }) => {
    const userId = await userIdOf(ctx, code);
    if (userId === null) throw new AppError("not_found", LATE);
    const login = loginOf(messengerId);
    const refusal = await linkedElsewhere(ctx, login);
    if (refusal !== null) throw new AppError("conflict", refusal);
    return claimFor(ctx, userId, login);
  },
});

const LATE = "This link is no longer valid: connect the wallet again for a new one";

/** The free account of a link's code, or `null`. */
async function userIdOf(ctx: QueryCtx, code: string): Promise<string | null> {
  return (await getOneFrom(ctx.db, "accounts", "by_ownerCode", codeHash(code)))?.userId ?? null;
}

const key = () => subkey(masterKey(required("WALLET_ENCRYPTION_KEY")), "owner link");

function codeHash(code: string): string {
  return bytesToHex(hmacSha256(key(), utf8ToBytes(`hash ${code}`)));
}

/**
 * A lost login: an operator who knows whose account it is gives it another one, two hours from now; a freeze takes that
 * back. `npx convex run accounts/claims:changeLogin '{"userId":"…","login":"<issuer>|<subject>","reason":"…"}'`.
 * @returns When it takes effect, epoch ms.
 * @throws AppError `not_found` without an owner; `conflict` if the new login's own account is in use.
 */
export const changeLogin = internalMutation({
  args: { userId: v.string(), login: v.string(), reason: v.string() },
  returns: v.number(),
  handler: async (ctx, { userId: name, login, reason }) => {
    const row = (await accountNamed(ctx, name))?.row;
    if (row?.login === undefined) throw new AppError("not_found", "This userId has no owner");
    if (!login.includes("|")) throw new AppError("invalid_request", "login must be <issuer>|<subject>");
    if (await isTaken(ctx, login)) throw new AppError("conflict", "The new login's own account is in use");
    const { userId } = row;
    const from = Date.now() + LOOSENING_MS;
    await saveAccount(ctx, userId, { nextLogin: { login, from } });
    log.warn("account.login changes", { account: row._id, reason });
    await ctx.scheduler.runAt(from, internal.accounts.claims.takeLogin, { userId });
    await announce(
      ctx,
      userId,
      "🔐 Your account will get another login",
      `The people who run this service were told that your login is lost. From ${dateTime(from)} on your account and its wallets are another one's, and its keys end.`,
      NOT_YOU,
    );
    return from;
  },
});

/** Gives an account the login that an operator has named, if it may still have it. Keys and open orders of the old one end. */
export const takeLogin = change({ userId: v.string() }, async (ctx, { userId }) => {
  const now = Date.now();
  const row = await accountOf(ctx, userId);
  if (row?.nextLogin === undefined || row.nextLogin.from > now) return;
  const { login } = row.nextLogin;
  if (await isTaken(ctx, login)) return saveAccount(ctx, userId, { nextLogin: undefined });
  await cancelLooser(ctx, userId, now);
  for (const { _id } of await keysOf(ctx, userId)) await ctx.db.patch("keys", _id, { revokedAt: now });
  // The messenger account that was the login may be in others' hands.
  if (messengerOf(row.login ?? "") !== null)
    await ctx.runMutation(internal.messenger.linking.end, { userId, by: "account" });
  await takeOver(ctx, userId, login);
  await announce(
    ctx,
    userId,
    "🔐 Your account has another login",
    "From now on only the new login can move its money. The old one's keys and open orders have ended.",
  );
});

/** Makes a login the owner of an account, in place of its own one, which is not in use. */
async function takeOver(ctx: MutationCtx, userId: string, login: string): Promise<void> {
  const own = await accountOfLogin(ctx, login);
  if (own !== null) await ctx.db.delete("accounts", own._id);
  await changeRules(ctx, userId, { login, claimed: true, claim: undefined, ownerCode: undefined });
}

/** Whether a login owns an account that it would leave behind. */
async function isTaken(ctx: QueryCtx, login: string): Promise<boolean> {
  const own = await accountOfLogin(ctx, login);
  return own !== null && (own.claimed || (await isInUse(ctx, own.userId)));
}

/** Whether the account of a `userId` has anything that its user would miss: a row in a section of their export. */
async function isInUse(ctx: QueryCtx, userId: string): Promise<boolean> {
  for (const table of tablesOf(records))
    if (table !== "accounts" && (await hasRows(ctx, table, userId))) return true;
  return false;
}

async function hasRows<Table extends TableNames>(
  ctx: QueryCtx,
  table: Table,
  userId: string,
): Promise<boolean> {
  const { ownedBy }: TableRecord<Table> = records[table];
  if (ownedBy?.section === undefined) return false;
  return (await ownedBy.rows(ctx.db.query(table), userId).first()) !== null;
}
