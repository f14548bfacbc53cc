import { getOneFrom } from "convex-helpers/server/relationships";
import type { Doc } from "../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../_generated/server";
import { AppError } from "../lib/errors";
import { isGuessable } from "../lib/records/ids";
import { rowsByBoth } from "../lib/records/rows";
import { sha256Hex } from "../lib/security/digests";

/**
 * The id by which callers name an account. Anybody who knows an id without an owner can move its money, so no row
 * stores such an id: the account is its hash, and the name stays unknown until the account has an owner. An id that
 * could be guessed is stored as it is, since its hash could be guessed as well; so are ids that were made at sign-in,
 * and those that had a wallet before ids were hashed. Owners can replace a leaked id; after that, the old one names
 * nobody.
 */

/** The form of accounts whose id cannot be guessed. */
const HASHED = /^acc_[0-9a-f]{64}$/;

/** The account that a `userId` names; `null` if its owner has replaced the id. */
export async function accountNamed(ctx: QueryCtx, name: string): Promise<string | null> {
  const row = await getOneFrom(ctx.db, "userNames", "by_name", name);
  if (row !== null) return row.replacedAt === undefined ? row.userId : null;
  const account = await accountBehind(ctx, name);
  return account === null || (await presentOf(ctx, account)) !== null ? null : account;
}

async function accountBehind(ctx: QueryCtx, name: string): Promise<string | null> {
  if (isGuessable(name) || (await getOneFrom(ctx.db, "users", "by_userId", name)) !== null) return name;
  if (HASHED.test(name)) return null;
  const wallets = ctx.db.query("wallets").withIndex("by_userId_and_kind", (q) => q.eq("userId", name));
  return (await wallets.first()) === null ? hashed(name) : name;
}

/** The account of an id that nobody can guess. */
export const hashed = (name: string): string => `acc_${sha256Hex(`account ${name}`)}`;

/** Stores the id by which an owner knows the account: it has an owner now, so a row may contain it. */
export async function keepName(ctx: MutationCtx, userId: string, name: string): Promise<void> {
  if (name !== userId && (await presentOf(ctx, userId)) === null)
    await ctx.db.insert("userNames", { userId, name });
}

/** The id that names an account. */
export async function nameOf(ctx: QueryCtx, userId: string): Promise<string> {
  return (await presentOf(ctx, userId))?.name ?? userId;
}

export function replacedId(): AppError {
  return new AppError("not_found", "There is no such userId: its owner has replaced it with another one");
}

/** The row of an account's current id; `null` if that is still the first one. */
export function presentOf(ctx: QueryCtx, userId: string): Promise<Doc<"userNames"> | null> {
  return rowsByBoth(ctx.db.query("userNames"), "userId", userId, "replacedAt", undefined).unique();
}
