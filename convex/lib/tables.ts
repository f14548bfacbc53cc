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
    /** Epoch ms: when it failed. */
    failedAt: v.optional(v.number()),
  }).index("by_key", ["key"]),

  /**
   * What was done with keys and money: who, what, when. Written by `lib/audit.ts` in the transaction that does it;
   * append-only, without secrets. Kept.
   */
  auditEvents: defineTable({
    at: v.number(),
    /** The user for whom it was done, the payer's address where no user was named, or "operator". */
    actor: v.string(),
    /** `key created`, `key rotated`, `transaction signed`, `permit signed`, `payment accepted`. */
    action: v.string(),
    /** The wallet, transaction, key or claim id it was done to. */
    subject: v.string(),
    detail: v.optional(v.string()),
  })
    .index("by_at", ["at"])
    .index("by_subject", ["subject", "at"]),
};
