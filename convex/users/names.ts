import { getOneFrom } from "convex-helpers/server/relationships";
import type { Doc } from "../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../_generated/server";
import { AppError } from "../lib/errors";
import { isGuessable } from "../lib/records/ids";
import { rowsByBoth } from "../lib/records/rows";
import { sha256Hex } from "../lib/security/digests";

/**
 * The id by which callers name an account. Whoever knows one that nobody owns moves its money, so no row keeps such an id: the
 * account is its hash, which names nothing until the account has an owner. An id that could be guessed is its account, as its hash could
 * be guessed as well; so is one that was made at sign-in, and one that had a wallet before ids were hashed. Owners put another id
 * in the place of one that has leaked, and from then on whoever names the old one names nobody.
 */

/** What the accounts of ids look like that nobody can guess. */
const HASHED = /^acc_[0-9a-f]{64}$/;

/** The account that goes by a `userId`; `null` where its owner has put another id in its place. */
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

/** An owner has shown by which id they know the account: it is theirs, so a row may keep it. */
export async function keepName(ctx: MutationCtx, userId: string, name: string): Promise<void> {
  if (name !== userId && (await presentOf(ctx, userId)) === null)
    await ctx.db.insert("userNames", { userId, name });
}

/** What an account goes by. */
export async function nameOf(ctx: QueryCtx, userId: string): Promise<string> {
  return (await presentOf(ctx, userId))?.name ?? userId;
}

/** Of an id in whose place its owner has put another. */
export function replacedId(): AppError {
  return new AppError("not_found", "There is no such userId: its owner has put another in its place");
}

/** The row of the id that an account goes by; `null` for the one that it began with. */
export function presentOf(ctx: QueryCtx, userId: string): Promise<Doc<"userNames"> | null> {
  return rowsByBoth(ctx.db.query("userNames"), "userId", userId, "replacedAt", undefined).unique();
}
