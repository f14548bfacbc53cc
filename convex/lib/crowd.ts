import { v, type Infer } from "convex/values";
import { internal } from "../_generated/api";
import { internalMutation, internalQuery, type ActionCtx, type MutationCtx } from "../_generated/server";
import { AppError } from "./errors";
import type { Caller } from "./limits";
import { rowsBy } from "./rows";
import { holdersOf, mayTake } from "./shares";
import { SECOND } from "./time";

/**
 * How many strangers are kept waiting at once. The small platform class runs 64 actions at the same time, HTTP requests
 * among them: were all of them strangers who wait for a model, nothing else would go on. Who sends or swaps waits apart
 * from who asks: questions cost nothing, and must keep nobody from their money. Of what is left of the places nobody
 * holds more than a tenth (`lib/shares`).
 */
const vCrowd = v.union(v.literal("asking"), v.literal("moving"));
type Crowd = Infer<typeof vCrowd>;

/** The shards of each, with five rows to a shard: strangers hold at most 30 and 20 of the 64 places. */
const SHARDS: Record<Crowd, readonly number[]> = { asking: [0, 1, 2, 3, 4, 5], moving: [6, 7, 8, 9] };
const PLACES = 5;
const ALL_PLACES = 10 * PLACES;
/** A place whose holder was lost is free again behind the longest answer. */
const HELD_MS = 30 * SECOND;
/** When to come back when all places are taken. */
const FULL_MS = 5 * SECOND;

/**
 * Does work that keeps its caller waiting, on a place among the strangers' where the caller is one.
 * @param full What is done instead when there is no place: `own` says whether it is the caller who holds too many.
 */
export async function waitingAs<Value>(
  ctx: ActionCtx,
  caller: Caller,
  work: () => Promise<Value>,
  full: (own: boolean) => Promise<Value>,
  crowd: Crowd = "asking",
): Promise<Value> {
  if (caller.signedIn === true) return work();
  const [holder, around] = holdersOf(caller);
  const { place, own } = await ctx.runMutation(internal.lib.crowd.enter, {
    crowd,
    ...(holder === undefined ? {} : { holder }),
    ...(around === undefined ? {} : { around }),
  });
  if (place === null) return full(own);
  try {
    return await work();
  } finally {
    await ctx.runMutation(internal.lib.crowd.leave, { place });
  }
}

/** For who cannot be answered without waiting. @throws AppError `rate_limited` */
export function refuseCrowd(own: boolean): Promise<never> {
  const why = own
    ? "You wait for as many answers as one caller may at a time: try again when one of them is there"
    : "Too many callers are waiting for an answer at the moment: try again shortly";
  return Promise.reject(new AppError("rate_limited", why, { retryAfterMs: FULL_MS }));
}

/** Takes a place; `null` when there is none, because the caller holds too many of their own or because all are held. */
export const enter = internalMutation({
  args: { crowd: vCrowd, holder: v.optional(v.string()), around: v.optional(v.string()) },
  returns: v.object({ place: v.union(v.id("crowdPlaces"), v.null()), own: v.boolean() }),
  handler: async (ctx, { crowd, ...who }) => {
    const now = Date.now();
    const shards = SHARDS[crowd];
    // Were they read for good, all who come and go would wait for one another.
    const held: number = await ctx.runQuery(
      internal.lib.crowd.held,
      { crowd, now },
      { useStaleSnapshot: true },
    );
    const left = shards.length * PLACES - held;
    if (!(await mayEnter(ctx, crowd, who, left, now))) return { place: null, own: left > 0 };
    const first = Math.floor(Math.random() * shards.length);
    for (const shard of [...shards.slice(first), ...shards.slice(0, first)]) {
      const held = await rowsBy(ctx.db.query("crowdPlaces"), "shard", shard).take(PLACES);
      const lost = held.find(({ until }) => until <= now);
      if (lost !== undefined) await ctx.db.delete("crowdPlaces", lost._id);
      else if (held.length >= PLACES) continue;
      const place = await ctx.db.insert("crowdPlaces", { shard, ...who, until: now + HELD_MS });
      return { place, own: false };
    }
    return { place: null, own: false };
  },
});

/** How many places are held. */
export const held = internalQuery({
  args: { crowd: vCrowd, now: v.number() },
  returns: v.number(),
  handler: async (ctx, { crowd, now }) => {
    let count = 0;
    for (const shard of SHARDS[crowd])
      count += (
        await ctx.db
          .query("crowdPlaces")
          .withIndex("by_shard", (q) => q.eq("shard", shard).gt("until", now))
          .take(PLACES)
      ).length;
    return count;
  },
});

/** Whether somebody, and everybody of the network around them, may have one more of what is left. */
async function mayEnter(
  ctx: MutationCtx,
  crowd: Crowd,
  { holder, around }: { holder?: string; around?: string },
  left: number,
  now: number,
): Promise<boolean> {
  const rows = () => ctx.db.query("crowdPlaces");
  const holds = [
    ...(holder === undefined
      ? []
      : [rows().withIndex("by_holder", (q) => q.eq("holder", holder).gt("until", now))]),
    ...(around === undefined
      ? []
      : [rows().withIndex("by_around", (q) => q.eq("around", around).gt("until", now))]),
  ];
  for (const held of holds) {
    const places = await held.take(ALL_PLACES);
    const own = places.filter(({ shard }) => SHARDS[crowd].includes(shard)).length;
    if (!mayTake({ own, left, amount: 1 })) return false;
  }
  return true;
}

export const leave = internalMutation({
  args: { place: v.id("crowdPlaces") },
  returns: v.null(),
  handler: async (ctx, { place }) => {
    if ((await ctx.db.get("crowdPlaces", place)) !== null) await ctx.db.delete("crowdPlaces", place);
    return null;
  },
});
