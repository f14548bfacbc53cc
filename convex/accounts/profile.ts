import { v } from "convex/values";
import { getOneFrom } from "convex-helpers/server/relationships";
import { internal } from "../_generated/api";
import { pickFields } from "../lib/objects";
import { mutation, query, type MutationCtx } from "../_generated/server";
import { defineMutation } from "../platform/changes";
import { AppError } from "../lib/errors";
import { formatUnits, parseMicroUsd } from "../lib/money/amounts";
import { requireIdentity } from "../platform/limits/callers";
import { formatDateTime } from "../lib/time";
import {
  type Account,
  findAccount,
  listAddresses,
  changeRules,
  getDailyLimit,
  findUser,
  getDailyLimitBeforeRaise,
  requireUnfrozenRules,
  RELAXATION_MS,
  MAX_ADDRESSES,
  createUserId,
  requireUser,
} from "../identity/model";
import { requireSetter } from "../identity/access";
import { announce, freezeAccount, NOT_YOU, unfreezeAccount } from "./freeze";
import { vListed } from "../identity/tables";

/** The signed-in user's own account: its id, its limit, its freeze, and the addresses that its user has proved to own. */
const vMe = v.object({
  userId: v.string(),
  claimed: v.boolean(),
  addresses: v.array(v.string()),
  /** The addresses that orders by key, chat or post may send to, oldest first, and from when on. */
  recipients: v.array(vListed),
  /** The limit of all orders of the owner in any 24 hours, decimal USD, until `next` holds. */
  dailyUsd: v.string(),
  /** A higher limit, and from when on it holds, which may be over; `null` if the last change was no higher one. */
  next: v.union(v.object({ dailyUsd: v.string(), from: v.number() }), v.null()),
  /** When the freeze began, and when it ends, which may be in the past; `null` without a freeze, or without an end. */
  frozenAt: v.union(v.number(), v.null()),
  thawsAt: v.union(v.number(), v.null()),
  /** When the deletion of the user's data began; `null` while there is none. */
  erasingSince: v.union(v.number(), v.null()),
});

/**
 * The caller's account; `null` before their first sign-in. Linked addresses are lower-case, times in epoch ms. Whether a
 * time is over, the caller's clock says: an answer is kept until the account changes.
 */
export const me = query({
  args: {},
  returns: v.union(vMe, v.null()),
  handler: async (ctx) => {
    const row = await findUser(ctx);
    if (row === null) return null;
    const { frozenAt = null, thawsAt = null } = row;
    const [, next] = row.limits ?? [];
    return pickFields(vMe, {
      claimed: false,
      erasingSince: null,
      ...row,
      userId: row.name ?? row.userId,
      addresses: (await listAddresses(ctx, row.userId)).map(({ address }) => address),
      recipients: row.recipients ?? [],
      dailyUsd: formatUnits(getDailyLimitBeforeRaise(row), 6),
      next: next ? { dailyUsd: formatUnits(BigInt(next.dailyMicroUsd), 6), from: next.countsFrom } : null,
      frozenAt,
      thawsAt,
    });
  },
});

/** The first sign-in gives the caller a `userId` of their own; every later one returns it. */
export const signIn = mutation({
  args: {},
  returns: v.object({ userId: v.string() }),
  handler: async (ctx) => {
    const { tokenIdentifier: login } = await requireIdentity(ctx);
    const present = await findUser(ctx);
    if (present !== null) return { userId: present.name ?? present.userId };
    const userId = createUserId();
    await ctx.db.insert("accounts", { userId, login });
    return { userId };
  },
});

/**
 * Replaces the caller's `userId`, if it has leaked. From then on the old one is invalid for good: requests with it get 404.
 * The account keeps everything, including its keys; questions that wait for the owner's approval become void.
 * @throws AppError `rate_limited`
 */
export const replaceUserId = mutation({
  args: {},
  returns: v.object({ userId: v.string() }),
  handler: async (ctx) => replaceAccountId(ctx, (await requireSetter(ctx)).userId),
});

/** `replaceUserId` for a caller who is known to be allowed to. */
export async function replaceAccountId(ctx: MutationCtx, userId: string): Promise<{ userId: string }> {
  const before = (await findAccount(ctx, userId))?.name;
  if (before !== undefined) await ctx.db.insert("accounts", { userId: before, name: "" });
  const name = createUserId();
  // The pending questions may come from a caller that knows the leaked id.
  await changeRules(ctx, userId, { name });
  await announce(ctx, userId, [
    "🔁 Your account has a new id",
    "The old one belongs to nobody from now on. Programs and assistants that use it need the new one, which your login shows, in the bot by /ai; your keys stay valid.",
    "If that was not you, freeze your account.",
  ]);
  return { userId: name };
}

/**
 * Sets the limit of all orders of the caller in 24 hours. A lower limit holds at once, a higher one two hours
 * later; setting the present one takes that back.
 * @param args.dailyUsd Decimal USD such as "250".
 * @throws AppError `invalid_request`; `rate_limited`; `paused` for a higher one while the account is frozen.
 */
export const setLimit = mutation({
  args: { dailyUsd: v.string() },
  returns: v.null(),
  handler: async (ctx, { dailyUsd }) => changeLimit(ctx, await requireSetter(ctx), dailyUsd),
});

/** `setLimit` for a caller who is known to be allowed to. */
export async function changeLimit(ctx: MutationCtx, row: Account, dailyUsd: string): Promise<null> {
  const { userId } = row;
  const now = Date.now();
  const requested = parseMicroUsd("dailyUsd", dailyUsd);
  if (requested === 0n)
    throw new AppError(
      "invalid_request",
      "dailyUsd must be more than 0: to stop all orders, freeze the account",
    );
  const present = getDailyLimit(row, now);
  const isLooser = requested > present;
  const limit = (daily: bigint, countsFrom: number) => ({ dailyMicroUsd: daily.toString(), countsFrom });
  const from = isLooser ? now + RELAXATION_MS : now;
  // A freeze cancels what is looser, so none may start while it lasts.
  if (isLooser) await requireUnfrozenRules(ctx, userId);
  const limits = isLooser ? [limit(present, now), limit(requested, from)] : [limit(requested, now)];
  await changeRules(ctx, userId, { limits });
  const since = isLooser ? `From ${formatDateTime(from)} on` : "From now on";
  await announce(ctx, userId, [
    "🔐 Your account has another limit",
    `${since} all orders may move up to ${formatUnits(requested, 6)} USD in 24 hours.`,
    ...(isLooser ? [NOT_YOU] : []),
  ]);
  return null;
}

/** Stops all signing for the caller's wallets, and cancels pending changes that would loosen their rules. */
export const freeze = mutation({
  args: {},
  returns: v.null(),
  handler: async (ctx) => {
    const { userId, frozenAt, thawsAt } = await requireUser(ctx);
    // The limit on changes applies to a repeated freeze only: a thief who has used it up cannot prevent the first one.
    if (frozenAt !== undefined && thawsAt === undefined) await requireSetter(ctx);
    await freezeAccount(ctx, userId, "login");
    return null;
  },
});

/** Ends the freeze two hours from now. @returns When, epoch ms. @throws AppError `conflict` if nothing is frozen. */
export const unfreeze = mutation({
  args: {},
  returns: v.number(),
  handler: async (ctx) => unfreezeAccount(ctx, (await requireSetter(ctx)).userId),
});

/**
 * Links an address whose key has signed the user's message. The signature proves ownership: an earlier link of another user
 * ends, and that user keeps what was credited until then.
 * @throws AppError `conflict` if the user has too many.
 */
export const storeLinkedAddress = defineMutation(
  { userId: v.string(), address: v.string() },
  async (ctx, { userId, address }) => {
    const before = await getOneFrom(ctx.db, "addresses", "by_address", address);
    if (before?.userId === userId) return;
    if ((await listAddresses(ctx, userId)).length >= MAX_ADDRESSES)
      throw new AppError("conflict", `At most ${MAX_ADDRESSES} addresses can be linked: unlink one first`);
    if (before !== null) await ctx.db.delete("addresses", before._id);
    await ctx.db.insert("addresses", { address, userId });
    // Earlier deposits from it belong to the user too.
    await ctx.scheduler.runAfter(0, internal.payments.deposits.creditAddress, { address });
  },
);

/** Unlinks an address of the caller; later deposits from it are credited to no user. @throws AppError `not_found` */
export const unlinkAddress = mutation({
  args: { address: v.string() },
  returns: v.null(),
  handler: async (ctx, { address }) => {
    const { userId } = await requireUser(ctx);
    const row = await getOneFrom(ctx.db, "addresses", "by_address", address.toLowerCase());
    if (row?.userId !== userId)
      throw new AppError(
        "not_found",
        "This address is not linked to your account: your profile lists those that are",
      );
    await ctx.db.delete("addresses", row._id);
    return null;
  },
});
