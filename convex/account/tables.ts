import { defineTable } from "convex/server";
import { v } from "convex/values";

export const accountTables = {
  /** A user's wish to have their data deleted, and how far that is. Written by `account/deletion`. Kept as its record. */
  accountDeletions: defineTable({
    userId: v.string(),
    requestedAt: v.number(),
    /** Rows erased so far. */
    erased: v.number(),
    /** Absent while it goes on. */
    finishedAt: v.optional(v.number()),
  }).index("by_userId", ["userId", "requestedAt"]),
};
