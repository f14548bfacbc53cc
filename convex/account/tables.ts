import { defineTable } from "convex/server";
import { v } from "convex/values";
import { ofUser, type RecordsOf } from "../lib/records";

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

  /** Changes of lost logins, by an operator's word. Written by `account/recovery`. Kept: they say why an account is whose. */
  rebinds: defineTable({
    userId: v.string(),
    /** The identity provider's issuer and subject, of the lost login and of the new one. */
    from: v.string(),
    to: v.string(),
    reason: v.string(),
    openedAt: v.number(),
    dueAt: v.number(),
    state: v.union(v.literal("open"), v.literal("done"), v.literal("refused"), v.literal("withdrawn")),
    endedAt: v.optional(v.number()),
  }).index("by_userId_and_state", ["userId", "state"]),
};

export const accountRecords: RecordsOf<typeof accountTables> = {
  rebinds: { keep: "they say why an account is whose" },
  accountDeletions: {
    keep: "the record of a user's wish",
    ownedBy: { rows: ofUser("by_userId"), section: "deletions", onDeletion: "stay" },
  },
};
