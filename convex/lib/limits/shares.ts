import { v, type Infer } from "convex/values";
import { internal } from "../../_generated/api";
import type { Doc } from "../../_generated/dataModel";
import { internalMutation, internalQuery, type MutationCtx, type QueryCtx } from "../../_generated/server";
import { sha256Hex } from "../security/digests";

/**
 * Pools from which many callers take in a window of time, such as a class of callers' part of the day's budget, or the
 * wallets that strangers make in an hour. Nobody takes more than a tenth of what is left, so that something remains for
 * newcomers. A caller who has taken nothing yet may always take one if there is one.
 */

/** The part that one holder may have of what the others have left. */
const MOST_OF_REST = 0.1;
/** How many rows count the whole pool, so that two who take at the same time seldom conflict. */
const SHARDS = 8;

/** A pool that callers take from one by one. Its windows begin at whole multiples of `windowMs` (UTC). */
export type Pool = { name: string; most: number; windowMs: number };

const vWanted = {
  pool: v.object({ name: v.string(), most: v.number(), windowMs: v.number() }),
  holders: v.array(v.string()),
};

/**
 * By whom a caller's part is counted, hashed: their token, their own chat, or their address, and for an IPv6 address
 * also its /48, which one customer can own. Empty if neither is known.
 */
export function holdersOf({
  userId,
  address,
  identity,
}: {
  userId?: string | undefined;
  address: string | null;
  identity?: string | undefined;
}): string[] {
  if (identity !== undefined) return [sha256Hex(`token:${identity}`)];
  if (address === null) return userId === undefined ? [] : [sha256Hex(`own:${userId}`)];
  return networksOf(address).map((network) => sha256Hex(`address:${network}`));
}

/** An IPv4 address; of an IPv6 address its /64 and /48. */
export function networksOf(address: string): string[] {
  if (!address.endsWith("::/64")) return [address];
  return [address, `${address.split(":").slice(0, 3).join(":")}::/48`];
}

/** Whether a holder of `own` may take `amount` more of what is left. */
export function mayTake({ own, left, amount }: { own: number; left: number; amount: number }): boolean {
  if (amount > left) return false;
  return own === 0 || own + amount <= (left + own) * MOST_OF_REST;
}

/**
 * Counts an amount for each of its holders.
 * @param left What is left of the whole pool. It may be a moment old: it bounds shares, not the pool.
 * @returns Whether each of them may have it; otherwise nothing is counted.
 */
export async function countFor(
  ctx: MutationCtx,
  of: { pool: string; window: number },
  holders: readonly string[],
  amount: number,
  left: number,
): Promise<boolean> {
  if (!(await mayHave(ctx, of, holders, amount, left))) return false;
  await addTo(ctx, of, holders, amount);
  return true;
}

/** Whether each of the holders may take an amount. */
export async function mayHave(
  ctx: QueryCtx,
  of: { pool: string; window: number },
  holders: readonly string[],
  amount: number,
  left: number,
): Promise<boolean> {
  const rows = await Promise.all(holders.map((holder) => find(ctx, { ...of, holder })));
  return rows.every((row) => mayTake({ own: Math.max(0, row?.amount ?? 0), left, amount }));
}

/** Adds to what holders have taken; a negative amount gives back. */
export async function addTo(
  ctx: MutationCtx,
  of: { pool: string; window: number },
  holders: readonly string[],
  amount: number,
): Promise<void> {
  for (const holder of holders) {
    const row = await find(ctx, { ...of, holder });
    if (row === null) await ctx.db.insert("shares", { ...of, holder, amount });
    else await ctx.db.patch("shares", row._id, { amount: row.amount + amount });
  }
}

/** Whether one was taken; if not, whether its holders have their share, or nothing is left for anybody. */
const vTaking = v.union(v.literal("taken"), v.literal("own"), v.literal("all"));
export type Taking = Infer<typeof vTaking>;

export async function takeOne(ctx: MutationCtx, pool: Pool, holders: readonly string[]): Promise<Taking> {
  const of = { pool: pool.name, window: windowOf(pool) };
  // Read from a snapshot: a current read would make all who take at the same time conflict.
  const stale = { useStaleSnapshot: true };
  const taken: number = await ctx.runQuery(internal.lib.limits.shares.taken, of, stale);
  const left = pool.most - taken;
  if (left < 1) return "all";
  if (!(await countFor(ctx, of, holders, 1, left))) return "own";
  await addTo(ctx, of, [`all ${Math.floor(Math.random() * SHARDS)}`], 1);
  return "taken";
}

/** `takeOne` for actions. */
export const take = internalMutation({
  args: vWanted,
  returns: vTaking,
  handler: (ctx, { pool, holders }) => takeOne(ctx, pool, holders),
});

/** What taking one would result in. */
export const allows = internalQuery({
  args: { ...vWanted, window: v.number() },
  returns: vTaking,
  handler: async (ctx, { pool, holders, window }): Promise<Taking> => {
    const of = { pool: pool.name, window };
    const left = pool.most - (await takenOf(ctx, of));
    if (left < 1) return "all";
    return (await mayHave(ctx, of, holders, 1, left)) ? "taken" : "own";
  },
});

/** How much all callers have taken of a pool in a window. */
export const taken = internalQuery({
  args: { pool: v.string(), window: v.number() },
  returns: v.number(),
  handler: takenOf,
});

export async function takenOf(ctx: QueryCtx, of: { pool: string; window: number }): Promise<number> {
  const rows = await ctx.db
    .query("shares")
    // A hash contains no such letters.
    .withIndex("by_pool", (q) =>
      q.eq("pool", of.pool).eq("window", of.window).gte("holder", "all ").lt("holder", "all!"),
    )
    .take(SHARDS);
  return rows.reduce((sum, { amount }) => sum + amount, 0);
}

/** When a pool's current window began, epoch ms. */
export function windowOf({ windowMs }: Pool, now = Date.now()): number {
  return Math.floor(now / windowMs) * windowMs;
}

async function find(
  ctx: QueryCtx,
  { pool, window, holder }: { pool: string; window: number; holder: string },
): Promise<Doc<"shares"> | null> {
  return ctx.db
    .query("shares")
    .withIndex("by_pool", (q) => q.eq("pool", pool).eq("window", window).eq("holder", holder))
    .unique();
}
