import { v, type Infer } from "convex/values";
import { internal } from "../_generated/api";
import { internalMutation, type ActionCtx } from "../_generated/server";
import { AppError } from "./errors";
import type { Caller } from "./limits";
import { rowsBy } from "./rows";
import { SECOND } from "./time";

/**
 * How many strangers are kept waiting at once. The small platform class runs 64 actions at the same time, HTTP requests
 * among them: were all of them strangers who wait for a model, nothing else would go on. Who sends or swaps waits apart
 * from who asks: questions cost nothing, and must keep nobody from their money.
 */
const vCrowd = v.union(v.literal("asking"), v.literal("moving"));
type Crowd = Infer<typeof vCrowd>;

/** The shards of each, with five rows to a shard: strangers hold at most 30 and 20 of the 64 places. */
const SHARDS: Record<Crowd, readonly number[]> = { asking: [0, 1, 2, 3, 4, 5], moving: [6, 7, 8, 9] };
const PLACES = 5;
/** A place whose holder was lost is free again behind the longest answer. */
const HELD_MS = 30 * SECOND;
/** When to come back when all places are taken. */
const FULL_MS = 5 * SECOND;

/**
 * Does work that keeps its caller waiting, on a place among the strangers' where the caller is one.
 * @param full What is done instead when all places are taken.
 */
export async function waitingAs<Value>(
  ctx: ActionCtx,
  caller: Caller,
  work: () => Promise<Value>,
  full: () => Promise<Value>,
  crowd: Crowd = "asking",
): Promise<Value> {
  if (caller.signedIn === true) return work();
  const place = await ctx.runMutation(internal.lib.crowd.enter, { crowd });
  if (place === null) return full();
  try {
    return await work();
  } finally {
    await ctx.runMutation(internal.lib.crowd.leave, { place });
  }
}

/** For who cannot be answered without waiting. @throws AppError `rate_limited` */
export function refuseCrowd(): Promise<never> {
  return Promise.reject(
    new AppError(
      "rate_limited",
      "Too many callers are waiting for an answer at the moment: try again shortly",
      {
        retryAfterMs: FULL_MS,
      },
    ),
  );
}

/** Takes a place; `null` when there is none. */
export const enter = internalMutation({
  args: { crowd: vCrowd },
  returns: v.union(v.id("crowdPlaces"), v.null()),
  handler: async (ctx, { crowd }) => {
    const now = Date.now();
    const shards = SHARDS[crowd];
    const first = Math.floor(Math.random() * shards.length);
    for (const shard of [...shards.slice(first), ...shards.slice(0, first)]) {
      const held = await rowsBy(ctx.db.query("crowdPlaces"), "shard", shard).take(PLACES);
      const lost = held.find(({ until }) => until <= now);
      if (lost !== undefined) await ctx.db.delete("crowdPlaces", lost._id);
      else if (held.length >= PLACES) continue;
      return ctx.db.insert("crowdPlaces", { shard, until: now + HELD_MS });
    }
    return null;
  },
});

export const leave = internalMutation({
  args: { place: v.id("crowdPlaces") },
  returns: v.null(),
  handler: async (ctx, { place }) => {
    if ((await ctx.db.get("crowdPlaces", place)) !== null) await ctx.db.delete("crowdPlaces", place);
    return null;
  },
});
