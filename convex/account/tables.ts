import { defineTable } from "convex/server";
import { v } from "convex/values";
import { literals } from "../lib/literals";
import { ofUser, type RecordsOf } from "../lib/records/records";

/** What can stand on a userId before its owner claims it. */
export const vLeftover = literals("chat", "bot", "webhooks", "alerts", "shifts");

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

  /**
   * Claims of userIds that could be guessed and have a wallet. They wait, so that an earlier user of the id hears of
   * them. Written by `account/ownership/openClaims` (opened, kept up) and `account/pendingClaims` (ended). Kept: they say why an
   * account belongs to somebody.
   */
  pendingClaims: defineTable({
    userId: v.string(),
    /** The claimer's login. */
    tokenIdentifier: v.string(),
    /** What of others' settings the claimer keeps. */
    keep: v.array(vLeftover),
    /** HMAC of the code that was told on the id's channels, with which the claim is contested. */
    codeHash: v.string(),
    /** Whether the id had a channel to tell that code on. */
    told: v.optional(v.boolean()),
    openedAt: v.number(),
    dueAt: v.number(),
    state: literals("open", "done", "refused", "contested", "withdrawn"),
    endedAt: v.optional(v.number()),
  })
    .index("by_userId_and_state", ["userId", "state"])
    .index("by_tokenIdentifier_and_state", ["tokenIdentifier", "state"])
    .index("by_codeHash", ["codeHash"]),

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
  pendingClaims: {
    keep: "they say why an account is whose",
    ownedBy: { rows: ofUser("by_userId_and_state"), section: "claims", onDeletion: "stay" },
    withheld: ["codeHash", "tokenIdentifier"],
  },
  rebinds: { keep: "they say why an account is whose" },
  accountDeletions: {
    keep: "the record of a user's wish",
    ownedBy: { rows: ofUser("by_userId"), section: "deletions", onDeletion: "stay" },
  },
};
