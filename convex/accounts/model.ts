import { bytesToHex } from "@noble/hashes/utils.js";
import { getOneFrom } from "convex-helpers/server/relationships";
import { internal } from "../_generated/api";
import type { Doc } from "../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../_generated/server";
import { AppError, FROZEN } from "../lib/errors";
import { charge } from "../lib/limits/charges";
import { log } from "../lib/log";
import { rowsBy, rowsByBoth } from "../lib/records";
import { requireIdentity } from "../lib/limits/callers";
import { HOUR } from "../lib/time";

/** Accounts: one row each, free or owned. Plain functions; those that write are steps of their caller's mutation. */

export type Account = Doc<"accounts">;

/** How long a change waits that loosens an account's rules, so that an owner who did not make it can freeze the account. */
export const LOOSENING_MS = 2 * HOUR;
/** What an owner's orders may move in 24 hours, micro-USD, unless the owner says otherwise. */
const OWNERS_DAILY = 2_000_000_000n;

/** The account's row; `null` for a free one that has none yet. */
export async function accountOf(ctx: QueryCtx, userId: string): Promise<Account | null> {
  return getOneFrom(ctx.db, "accounts", "by_userId", userId);
}

/** The account of a `userId` that has an owner, or `null`. */
export async function ownerOf(ctx: QueryCtx, userId: string): Promise<Account | null> {
  const row = await accountOf(ctx, userId);
  return row?.login === undefined ? null : row;
}

/** The account of a login, or `null`. */
export async function accountOfLogin(ctx: QueryCtx, login: string): Promise<Account | null> {
  return getOneFrom(ctx.db, "accounts", "by_login", login);
}

/** When a claim of a free account takes effect (epoch ms); `null` if none waits. */
export function claimDueAt(row: Account | null): number | null {
  return row?.login === undefined && row?.claim?.login !== undefined ? row.claim.dueAt : null;
}

/** The caller's account, or `null` before their first sign-in. @throws AppError `unauthorized` */
export async function findUser(ctx: QueryCtx): Promise<Account | null> {
  return accountOfLogin(ctx, (await requireIdentity(ctx)).tokenIdentifier);
}

/** The caller's account. @throws AppError `unauthorized`; `not_found` before their first sign-in. */
export async function requireUser(ctx: QueryCtx): Promise<Account> {
  const user = await findUser(ctx);
  if (user === null)
    throw new AppError("not_found", "This user has not signed in yet: call accounts/profile:signIn");
  return user;
}

/** The prefix of logins of owners with only a messenger account: no identity provider's tokens use it. */
const MESSENGER = "messenger|";

/** A messenger account as a login. */
export function loginOf(messengerId: string): string {
  return MESSENGER + messengerId;
}

/** The messenger account that is a login; `null` for an identity provider's. */
export function messengerOf(login = ""): string | null {
  return login.startsWith(MESSENGER) ? login.slice(MESSENGER.length) : null;
}

export function randomHex(bytes: number): string {
  return bytesToHex(crypto.getRandomValues(new Uint8Array(bytes)));
}

/** A new `userId`: 128 random bits. */
export function newUserId(): string {
  return `usr_${randomHex(16)}`;
}

/**
 * The account that an id names. Rows hold the first id of an account for good.
 * @returns The account's `userId`, and its row if it has one.
 * @throws AppError `not_found` if its owner has replaced the id.
 */
export async function accountNamed(ctx: QueryCtx, name: string) {
  const renamed = await getOneFrom(ctx.db, "accounts", "by_name", name);
  const row = renamed ?? (await accountOf(ctx, name));
  if (renamed === null && row?.name !== undefined)
    throw new AppError("not_found", "There is no such userId: its owner has replaced it with another one");
  return { userId: row?.userId ?? name, row };
}

/** The id that names an account. */
export async function nameOf(ctx: QueryCtx, userId: string): Promise<string> {
  return (await accountOf(ctx, userId))?.name ?? userId;
}

/** The user who proved to own an address (any case), or `null`. */
export async function linkedUser(ctx: QueryCtx, address: string): Promise<string | null> {
  return (await getOneFrom(ctx.db, "addresses", "by_address", address.toLowerCase()))?.userId ?? null;
}

/** The rules that every permission to sign depends on. `version` counts their changes. */
export async function rulesOf(ctx: QueryCtx, userId: string, now: number) {
  const row = await accountOf(ctx, userId);
  return { version: row?.version ?? 0, isFrozen: isFrozen(row, now) };
}

function isFrozen(row: Account | null, now: number): boolean {
  return row?.frozenAt !== undefined && (row.thawsAt === undefined || row.thawsAt > now);
}

/** The rules of an account that may do something. @throws AppError `paused` where its owner has frozen it. */
export async function liveRules(ctx: QueryCtx, userId: string) {
  const rules = await rulesOf(ctx, userId, Date.now());
  if (rules.isFrozen) throw new AppError("paused", FROZEN);
  return rules;
}

/** What an owner's orders may move in 24 hours at `now`, in micro-USD. */
export function dailyAt(row: Account | null, now: number): bigint {
  const set = row?.limits?.findLast(({ countsFrom }) => countsFrom <= now);
  return set === undefined ? OWNERS_DAILY : BigInt(set.dailyMicroUsd);
}

/** The same before a higher limit holds that waits. */
export function firstDaily(row: Account): bigint {
  const [first] = row.limits ?? [];
  return first === undefined ? OWNERS_DAILY : BigInt(first.dailyMicroUsd);
}

/** `undefined` removes a field. */
type Changes = {
  [Field in Exclude<keyof Account, "_id" | "_creationTime" | "userId">]?: Account[Field] | undefined;
};

/** Changes an account's row. */
export async function saveAccount(ctx: MutationCtx, userId: string, changes: Changes): Promise<void> {
  const row = await accountOf(ctx, userId);
  await ctx.db.patch("accounts", row?._id ?? (await ctx.db.insert("accounts", { userId })), changes);
}

/** The same, and voids permissions under the earlier rules that nobody has signed yet. */
export async function changeRules(ctx: MutationCtx, userId: string, changes: Changes = {}): Promise<void> {
  const version = ((await accountOf(ctx, userId))?.version ?? 0) + 1;
  await saveAccount(ctx, userId, { ...changes, version });
}

/**
 * Stops everything that would be signed for an account's wallets, cancels all that would loosen its rules and does not
 * count yet, and tells it. Freezing a frozen account does so again.
 * @param by A linked chat may be in others' hands: it cancels no change of the login, which is the way out then.
 */
export async function freeze(ctx: MutationCtx, userId: string, by: "login" | "chat"): Promise<void> {
  const row = await accountOf(ctx, userId);
  const claim = by === "chat" ? { claim: row?.claim } : {};
  await cancelLooser(ctx, userId, { frozenAt: Date.now(), thawsAt: undefined, ...claim });
  const byChat = messengerOf(row?.login) !== null;
  await announce(ctx, userId, [
    "🧊 Your account is frozen",
    "From now on nothing is signed for its wallets, no matter who asks. Transactions that were sent to the chain before may still be mined.",
    byChat
      ? [{ command: "unfreeze" }, " in your chat with the bot ends it, two hours later."]
      : "To end it, sign in to the web application. It ends two hours later.",
  ]);
}

/** Changes the rules, and cancels what would loosen them and does not count yet. */
export async function cancelLooser(ctx: MutationCtx, userId: string, changes: Changes): Promise<void> {
  const now = Date.now();
  const row = await accountOf(ctx, userId);
  const counts = ({ countsFrom }: { countsFrom: number }) => countsFrom <= now;
  await endKeys(ctx, userId, now);
  await changeRules(ctx, userId, {
    limits: row?.limits?.filter(counts),
    recipients: row?.recipients?.filter(counts),
    // A claim of a free account loosens nothing of an owner's.
    claim: row?.login === undefined ? row?.claim : undefined,
    ...changes,
  });
}

/** Revokes an account's keys, or those that count only after a moment. */
export async function endKeys(ctx: MutationCtx, userId: string, after = -1): Promise<void> {
  const revokedAt = Date.now();
  for (const { _id, countsFrom } of await keysOf(ctx, userId))
    if (countsFrom > after) await ctx.db.patch("keys", _id, { revokedAt });
}

/**
 * Ends a freeze, two hours from now. A freeze meanwhile stands. Earlier permissions stay void.
 * @returns The end of the freeze, epoch ms.
 * @throws AppError `conflict` if nothing is frozen.
 */
export async function thaw(ctx: MutationCtx, userId: string): Promise<number> {
  const now = Date.now();
  const row = await accountOf(ctx, userId);
  if (!isFrozen(row, now)) throw new AppError("conflict", "Your account is not frozen");
  if (row?.thawsAt !== undefined) return row.thawsAt;
  const thawsAt = now + LOOSENING_MS;
  await saveAccount(ctx, userId, { thawsAt });
  const title = "☀️ Your account will not be frozen any more";
  await announce(ctx, userId, [title, "Two hours from now its wallets sign again.", NOT_YOU]);
  return thawsAt;
}

export const NOT_YOU = "If that was not you, freeze your account before then.";

/** At most this many keys of an owner are not revoked. */
export const MOST_KEYS = 10;
export async function keysOf(ctx: QueryCtx, userId: string): Promise<Doc<"keys">[]> {
  return rowsByBoth(ctx.db.query("keys"), "userId", userId, "revokedAt", undefined).take(MOST_KEYS);
}

/** At most this many addresses can be linked to one user. */
export const MOST_ADDRESSES = 20;
export async function addressesOf(ctx: QueryCtx, userId: string): Promise<Doc<"addresses">[]> {
  return rowsBy(ctx.db.query("addresses"), "userId", userId).take(MOST_ADDRESSES);
}

/** A title and paragraphs. */
export type Told = [string, ...(string | (string | { code: string } | { command: string })[])[]];

/** Tells what has happened to an account on every channel that it has. */
export async function announce(ctx: MutationCtx, userId: string, [title, ...told]: Told): Promise<void> {
  log.info("account.changed", { account: (await accountOf(ctx, userId))?._id, title });
  const paragraphs = [[{ bold: title }], ...told.map((one) => (typeof one === "string" ? [one] : one))];
  await ctx.runMutation(internal.messenger.notices.tell, { userId, paragraphs });
}

/** The caller's account, to change its settings, which is counted. @throws AppError as `requireUser`; `rate_limited`. */
export async function requireSetter(ctx: MutationCtx): Promise<Account> {
  const user = await requireUser(ctx);
  await charge(ctx, "settings", { userId: user.userId, address: null });
  return user;
}
