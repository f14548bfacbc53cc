import { v } from "convex/values";
import { internal } from "../_generated/api";
import { internalMutation, type ActionCtx } from "../_generated/server";
import { AppError } from "./errors";
import type { Caller } from "./limits";
import { SECOND } from "./time";

/**
 * How many strangers are kept waiting at once. The small platform class runs 64 actions at the same time, HTTP requests
 * among them: were all of them strangers who wait for a model, nothing else would go on.
 */

/** Five rows to each of so many shards: strangers hold at most 30 of the 64 places. */
const SHARDS = 6;
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
): Promise<Value> {
  if (caller.signedIn === true) return work();
  const place = await ctx.runMutation(internal.lib.crowd.enter, {});
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
    new AppError("rate_limited", "Too many are waiting for an answer just now: try again shortly", {
      retryAfterMs: FULL_MS,
    }),
  );
}

/** Takes a place; `null` when there is none. */
export const enter = internalMutation({
  args: {},
  returns: v.union(v.id("crowdPlaces"), v.null()),
  handler: async (ctx) => {
    const now = Date.now();
    const first = Math.floor(Math.random() * SHARDS);
    for (let i = 0; i < SHARDS; i++) {
      const shard = (first + i) % SHARDS;
      const held = await ctx.db
        .query("crowdPlaces")
        .withIndex("by_shard", (q) => q.eq("shard", shard))
        .take(PLACES);
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
