import { bytesToHex } from "@noble/hashes/utils.js";
import { getOneFrom } from "convex-helpers/server/relationships";
import type { Doc } from "../_generated/dataModel";
import type { QueryCtx } from "../_generated/server";
import { requireIdentity } from "../lib/security/auth";
import { AppError } from "../lib/errors";
import { rowsBy } from "../lib/records/rows";

/** The caller's row, or `null` before their first sign-in. @throws AppError `unauthorized` */
export async function findUser(ctx: QueryCtx): Promise<Doc<"users"> | null> {
  return userOfToken(ctx, (await requireIdentity(ctx)).tokenIdentifier);
}

/** The row of a login, by the identifier in its tokens, or `null`. */
export async function userOfToken(ctx: QueryCtx, tokenIdentifier: string): Promise<Doc<"users"> | null> {
  return getOneFrom(ctx.db, "users", "by_tokenIdentifier", tokenIdentifier);
}

/** The caller's row. @throws AppError `unauthorized`; `not_found` before their first sign-in. */
export async function requireUser(ctx: QueryCtx): Promise<Doc<"users">> {
  const user = await findUser(ctx);
  if (user === null)
    throw new AppError("not_found", "This user has not signed in yet: call users/profile:signIn");
  return user;
}

/** The prefix of logins of owners with only a messenger account: no identity provider's tokens use it. */
const MESSENGER = "messenger|";

export function messengerLogin(messengerId: string): string {
  return MESSENGER + messengerId;
}

/** The messenger account that is a login; `null` for an identity provider's. */
export function accountOfLogin(tokenIdentifier: string): string | null {
  return tokenIdentifier.startsWith(MESSENGER) ? tokenIdentifier.slice(MESSENGER.length) : null;
}

/** The signed-in owner of a `userId`, or `null` if it has none. */
export async function ownerOf(ctx: QueryCtx, userId: string): Promise<Doc<"users"> | null> {
  return getOneFrom(ctx.db, "users", "by_userId", userId);
}

/** The user who proved to own an address (any case), or `null`. */
export async function linkedUser(ctx: QueryCtx, address: string): Promise<string | null> {
  return (await linkOf(ctx, address))?.userId ?? null;
}

export async function linkOf(ctx: QueryCtx, address: string): Promise<Doc<"linkedAddresses"> | null> {
  return getOneFrom(ctx.db, "linkedAddresses", "by_address", address.toLowerCase());
}

/** At most this many addresses can be linked to one user. */
export const MAX_ADDRESSES = 20;

export async function addressesOf(
  ctx: QueryCtx,
  userId: string,
): Promise<{ address: string; linkedAt: number }[]> {
  const rows = await rowsBy(ctx.db.query("linkedAddresses"), "userId", userId).take(MAX_ADDRESSES);
  return rows.map(({ address, linkedAt }) => ({ address, linkedAt }));
}

/** A new `userId`: 128 random bits. */
export function newUserId(): string {
  return `usr_${bytesToHex(crypto.getRandomValues(new Uint8Array(16)))}`;
}
