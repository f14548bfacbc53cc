import { defineTable } from "convex/server";
import { v } from "convex/values";

export const libTables = {
  /**
   * Who is making a cached thing anew. Written by `lib/refreshes.ts` on behalf of the domain that owns the thing;
   * one row per key, kept, so that attempts go on counting.
   */
  refreshes: defineTable({
    /** Domain and subject, for example `market:BTC`. */
    key: v.string(),
    /** Counts refreshes of this key; a result from an earlier attempt is dropped. */
    attempt: v.number(),
    /** Epoch ms until which the running attempt owns the key; 0 when none runs. */
    leaseUntil: v.number(),
    /** Why the latest attempt failed; absent after a success. */
    failure: v.optional(v.string()),
  }).index("by_key", ["key"]),
};
