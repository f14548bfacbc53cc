import { bytesToHex } from "@noble/hashes/utils.js";
import { getOneFrom } from "convex-helpers/server/relationships";
import type { Doc } from "../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../_generated/server";
import { isPaperDeployment } from "../lib/env";
import { AppError } from "../lib/errors";
import { FROZEN } from "../lib/refusals";
import { MAX_USER_ID, NOT_SHARED, PRINTABLE, queryBy, queryByBoth, SHARED_ID } from "../platform/records";
import { requireIdentity } from "../platform/limits/callers";
import { HOUR } from "../lib/time";
import type { Listed } from "./tables";

/** Accounts: one row each, free or owned. Plain functions; those that write are steps of their caller's mutation. */
export type Account = Doc<"accounts">;

/** The delay of every change that relaxes an account's rules: time for the real owner to freeze the account. */
export const RELAXATION_MS = 2 * HOUR;

/** The default limit of an owner's orders in 24 hours, micro-USD. */
const OWNERS_DAILY = 2_000_000_000n;

/** The account's row; `null` for a free one that has none yet. */
export async function findAccount(ctx: QueryCtx, userId: string): Promise<Account | null> {
  return getOneFrom(ctx.db, "accounts", "by_userId", userId);
}

/** The account of a `userId` that has an owner, or `null`. */
export async function findOwner(ctx: QueryCtx, userId: string): Promise<Account | null> {
  const row = await findAccount(ctx, userId);
  return row?.login === undefined ? null : row;
}

/** The account of a login, or `null`. */
export async function findAccountByLogin(ctx: QueryCtx, login: string): Promise<Account | null> {
  return getOneFrom(ctx.db, "accounts", "by_login", login);
}

/** When a claim of a free account takes effect (epoch ms); `null` if none waits. */
export function getClaimDueAt(row: Account | null): number | null {
  return row?.login === undefined && row?.claim?.login !== undefined ? row.claim.dueAt : null;
}

/** The caller's account, or `null` before their first sign-in. @throws AppError `unauthorized` */
export async function findUser(ctx: QueryCtx): Promise<Account | null> {
  return findAccountByLogin(ctx, (await requireIdentity(ctx)).tokenIdentifier);
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
export function toMessengerLogin(messengerId: string): string {
  return MESSENGER + messengerId;
}

/** The messenger account that is a login; `null` for an identity provider's. */
export function parseMessengerLogin(login = ""): string | null {
  return login.startsWith(MESSENGER) ? login.slice(MESSENGER.length) : null;
}

export function createRandomHex(bytes: number): string {
  return bytesToHex(crypto.getRandomValues(new Uint8Array(bytes)));
}

/** A new `userId`: 128 random bits. */
export function createUserId(): string {
  return `usr_${createRandomHex(16)}`;
}

/** Ids that documents and tools print as examples: many people would share the wallet. Compared without case. */
const PUBLISHED = new Set([
  "3f0c2a9e-6d1b-4c7e-9a54-b2f1d8e0c6a7",
  "123e4567-e89b-12d3-a456-426614174000",
  "550e8400-e29b-41d4-a716-446655440000",
  "00000000-0000-0000-0000-000000000000",
]);
const PLACEHOLDER = /^<?your[-_ ](?:(?:own|long|secret|random)[-_ ])*(?:user[-_ ]?)?id>?$/;
/** The form of `derivePseudonym`. */
const PSEUDONYM = /^usr_[0-9a-f]{24}$/;

/** Why a publicly known id can have no owner; `null` for any other id. */
function explainPublicId(userId: string): string | null {
  const plain = userId.toLowerCase();
  if (PUBLISHED.has(plain) || PLACEHOLDER.test(plain) || /^[.…]+$/.test(plain))
    return "userId is an example that everybody can read: make your own, a long random one such as a UUID";
  return PSEUDONYM.test(plain)
    ? "userId is the public name of an account, which opens nothing: use its id"
    : null;
}

/** A `userId` as `platform/http/input` takes it. @throws AppError `invalid_request` */
export function parseUserId(text: string): string {
  const userId = text.trim();
  if (userId === SHARED_ID) throw new AppError("invalid_request", `userId ${NOT_SHARED}`);
  if (Array.from(userId).length > MAX_USER_ID || !PRINTABLE.test(userId))
    throw new AppError("invalid_request", "userId must be 1 to 128 printable characters");
  return userId;
}

/** So many random letters and digits are as strong as a UUID. */
const LEAST_ID_CHARS = 22;

/** Whether a `userId` is short enough to be guessed. */
export function isGuessableId(userId: string): boolean {
  return Array.from(userId).length < LEAST_ID_CHARS;
}

/**
 * The account that an id names. Rows hold the first id of an account for good.
 * @returns The account's `userId`, and its row if it has one.
 * @throws AppError `not_found` if its owner has replaced the id; `invalid_request` for an example that is published.
 */
export async function resolveAccount(ctx: QueryCtx, name: string) {
  const reason = explainPublicId(name);
  if (reason !== null) throw new AppError("invalid_request", reason);
  const renamed = await getOneFrom(ctx.db, "accounts", "by_name", name);
  const row = renamed ?? (await findAccount(ctx, name));
  if (renamed === null && row?.name !== undefined)
    throw new AppError(
      "not_found",
      "This userId is no longer valid, because its owner has replaced it: use the new one",
    );
  return { userId: row?.userId ?? name, row };
}

/** The id that names an account. */
export async function getAccountName(ctx: QueryCtx, userId: string): Promise<string> {
  return (await findAccount(ctx, userId))?.name ?? userId;
}

/** The user who proved to own an address (any case), or `null`. */
export async function findLinkedUser(ctx: QueryCtx, address: string): Promise<string | null> {
  return (await getOneFrom(ctx.db, "addresses", "by_address", address.toLowerCase()))?.userId ?? null;
}

/**
 * The rules that every permission to sign depends on. `version` counts their changes. `paper`: the mode, as rows of orders
 * have it.
 */
export async function getRules(ctx: QueryCtx, userId: string, now: number) {
  const row = await findAccount(ctx, userId);
  return { version: row?.version ?? 0, isFrozen: isFrozen(row, now), paper: getMode(row) };
}

/** `true` for an account on paper, by its own switch or by the operator's; `undefined` for a live one. */
export function getMode(row: Pick<Account, "paper"> | null): true | undefined {
  return isPaperDeployment() || row?.paper !== undefined ? true : undefined;
}

/** `getMode` of an id. */
export async function readMode(ctx: QueryCtx, userId: string): Promise<true | undefined> {
  return getMode(await findAccount(ctx, userId));
}

export function isFrozen(row: Account | null, now: number): boolean {
  return row?.frozenAt !== undefined && (row.thawsAt === undefined || row.thawsAt > now);
}

/** The rules of an account that is not frozen. @throws AppError `paused` for a frozen one */
export async function requireUnfrozenRules(ctx: QueryCtx, userId: string) {
  const rules = await getRules(ctx, userId, Date.now());
  if (rules.isFrozen) throw new AppError("paused", FROZEN);
  return rules;
}

/** The limit of an owner's orders in 24 hours at `now`, in micro-USD. */
export function getDailyLimit(row: Account | null, now: number): bigint {
  const set = row?.limits?.findLast(({ countsFrom }) => countsFrom <= now);
  return set === undefined ? OWNERS_DAILY : BigInt(set.dailyMicroUsd);
}

/** The limit that holds while a raise is pending. */
export function getDailyLimitBeforeRaise(row: Account): bigint {
  const [first] = row.limits ?? [];
  return first === undefined ? OWNERS_DAILY : BigInt(first.dailyMicroUsd);
}

/** `undefined` removes a field. */
export type Changes = {
  [Field in Exclude<keyof Account, "_id" | "_creationTime" | "userId">]?: Account[Field] | undefined;
};

/** Changes an account's row. */
export async function saveAccount(ctx: MutationCtx, userId: string, changes: Changes): Promise<void> {
  const row = await findAccount(ctx, userId);
  await ctx.db.patch("accounts", row?._id ?? (await ctx.db.insert("accounts", { userId })), changes);
}

/** Changes an account's rules: unsigned permissions under the earlier rules become void. */
export async function changeRules(ctx: MutationCtx, userId: string, changes: Changes = {}): Promise<void> {
  const version = ((await findAccount(ctx, userId))?.version ?? 0) + 1;
  await saveAccount(ctx, userId, { ...changes, version });
}

/** At most this many keys of an owner are not revoked. */
export const MAX_KEYS = 10;
export async function listKeysOfAccount(ctx: QueryCtx, userId: string): Promise<Doc<"keys">[]> {
  return queryByBoth(ctx.db.query("keys"), "userId", userId, "revokedAt", undefined).take(MAX_KEYS);
}

/** At most this many addresses can be linked to one user. */
export const MAX_ADDRESSES = 20;
export async function listAddresses(ctx: QueryCtx, userId: string): Promise<Doc<"addresses">[]> {
  return queryBy(ctx.db.query("addresses"), "userId", userId).take(MAX_ADDRESSES);
}

/** The list of an account, oldest first. */
export async function listRecipients(ctx: QueryCtx, userId: string): Promise<Listed[]> {
  return (await findAccount(ctx, userId))?.recipients ?? [];
}

/** An entry of the list, or `null`. @param address Checksummed. */
export async function findRecipient(ctx: QueryCtx, userId: string, address: string): Promise<Listed | null> {
  return (await listRecipients(ctx, userId)).find((one) => one.address === address) ?? null;
}
