import { v } from "convex/values";
import { parse } from "convex-helpers/validators";
import { mutation, query, type MutationCtx } from "../_generated/server";
import { AppError } from "../lib/errors";
import { formatUnits, microUsdFrom } from "../lib/money/amounts";
import { requireIdentity } from "../lib/limits/callers";
import { dateTime } from "../lib/time";
import {
  accountOf,
  addressesOf,
  announce,
  changeRules,
  dailyAt,
  findUser,
  freeze as freezeAccount,
  isFrozen,
  liveRules,
  LOOSENING_MS,
  newUserId,
  NOT_YOU,
  requireSetter,
  thaw,
} from "./model";
import { accountTables } from "./tables";

/** The signed-in user's own account: its id, its limit, and its freeze. */

const vMe = v.object({
  userId: v.string(),
  claimed: v.boolean(),
  createdAt: v.number(),
  addresses: v.array(accountTables.addresses.validator.pick("address", "linkedAt")),
  /** What all orders in the owner's name may move in any 24 hours, decimal USD. */
  dailyUsd: v.string(),
  /** A higher limit, and from when it holds; `null` if none waits. */
  next: v.union(v.object({ dailyUsd: v.string(), from: v.number() }), v.null()),
  /** Since when the account is frozen, and when that ends; `null`: it is not, or nobody has ended it. */
  frozenAt: v.union(v.number(), v.null()),
  thawsAt: v.union(v.number(), v.null()),
});

/** The caller's account; `null` before their first sign-in. Linked addresses are lower-case, times in epoch ms. */
export const me = query({
  args: {},
  returns: v.union(vMe, v.null()),
  handler: async (ctx) => {
    const row = await findUser(ctx);
    if (row === null) return null;
    const now = Date.now();
    const next = row.next !== undefined && row.next.from > now ? row.next : null;
    const { frozenAt = null, thawsAt = null } = isFrozen(row, now) ? row : {};
    return parse(vMe, {
      ...row,
      userId: row.name ?? row.userId,
      addresses: await addressesOf(ctx, row.userId),
      dailyUsd: formatUnits(dailyAt(row, now), 6),
      next: next === null ? null : { dailyUsd: formatUnits(BigInt(next.dailyMicroUsd), 6), from: next.from },
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
    const userId = newUserId();
    await ctx.db.insert("accounts", { userId, login, claimed: false, createdAt: Date.now(), version: 0 });
    return { userId };
  },
});

/**
 * Replaces the caller's `userId`, if it has leaked. From then on the old one belongs to nobody, for good: requests that
 * name it get 404. The account keeps everything, including its keys; questions that wait for the owner's approval
 * become void.
 * @throws AppError `rate_limited`
 */
export const replaceUserId = mutation({
  args: {},
  returns: v.object({ userId: v.string() }),
  handler: async (ctx) => replaceId(ctx, (await requireSetter(ctx)).userId),
});

/** The same, for a caller who may. */
export async function replaceId(ctx: MutationCtx, userId: string): Promise<{ userId: string }> {
  const before = (await accountOf(ctx, userId))?.name;
  const createdAt = Date.now();
  if (before !== undefined)
    await ctx.db.insert("accounts", { userId: before, isGone: true, claimed: false, createdAt, version: 0 });
  const name = newUserId();
  // Whoever knows the old id may have asked the questions that are pending.
  await changeRules(ctx, userId, { name });
  await announce(
    ctx,
    userId,
    "🔁 Your account has a new id",
    "The old one belongs to nobody from now on. Programs and assistants that use it need the new one, which is shown where it was replaced; your keys stay valid.",
    "If that was not you, freeze your account.",
  );
  return { userId: name };
}

/**
 * Sets what all orders in the caller's name may move in 24 hours. A lower limit holds at once, a higher one two hours
 * later; setting the present one takes that back.
 * @param args.dailyUsd Decimal USD such as "250".
 * @throws AppError `invalid_request`; `rate_limited`; `paused` for a higher one while the account is frozen.
 */
export const setLimit = mutation({
  args: { dailyUsd: v.string() },
  returns: v.null(),
  handler: async (ctx, { dailyUsd }) => {
    const row = await requireSetter(ctx);
    const { userId } = row;
    const now = Date.now();
    const wish = microUsdFrom("dailyUsd", dailyUsd);
    if (wish === 0n) throw new AppError("invalid_request", "dailyUsd must be more than 0");
    const present = dailyAt(row, now);
    const isLooser = wish > present;
    const from = now + LOOSENING_MS;
    // A freeze cancels what is looser, so none may start while it lasts.
    if (isLooser) await liveRules(ctx, userId);
    await changeRules(ctx, userId, {
      dailyMicroUsd: (isLooser ? present : wish).toString(),
      next: isLooser ? { dailyMicroUsd: wish.toString(), from } : undefined,
    });
    const since = isLooser ? `From ${dateTime(from)} on` : "From now on";
    await announce(
      ctx,
      userId,
      "🔐 Your account has another limit",
      `${since} all orders may move up to ${formatUnits(wish, 6)} USD in 24 hours.`,
      ...(isLooser ? [NOT_YOU] : []),
    );
    return null;
  },
});

/** Stops all signing for the caller's wallets, and cancels pending changes that would loosen their rules. */
export const freeze = mutation({
  args: {},
  returns: v.null(),
  handler: async (ctx) => {
    await freezeAccount(ctx, (await requireSetter(ctx)).userId);
    return null;
  },
});

/** Ends the freeze two hours from now. @returns When, epoch ms. @throws AppError `conflict` if nothing is frozen. */
export const unfreeze = mutation({
  args: {},
  returns: v.number(),
  handler: async (ctx) => thaw(ctx, (await requireSetter(ctx)).userId),
});
