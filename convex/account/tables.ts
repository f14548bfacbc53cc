import { defineTable } from "convex/server";
import { v } from "convex/values";
import { literals } from "../lib/literals";
import { ofUser, type RecordsOf } from "../lib/records/records";

/** What others can have set on a userId before its owner claims it. */
export const vLeftover = literals("chat", "bot", "webhooks", "alerts", "shifts");

export const accountTables = {
  /** Users' requests to delete their data, and the progress. Written by `account/deletion`. Kept as its record. */
  accountDeletions: defineTable({
    userId: v.string(),
    requestedAt: v.number(),
    /** Rows erased so far. */
    erased: v.number(),
    /** Absent until it has finished. */
    finishedAt: v.optional(v.number()),
  }).index("by_userId", ["userId", "requestedAt"]),

  /**
   * Claims of userIds that could be guessed and have a wallet. They are pending for a while, so that an earlier user
   * of the id learns of them. Written by `account/ownership/openings` (opened, kept up) and `account/pendingClaims` (ended). Kept: they say why an
   * account belongs to somebody.
   */
  pendingClaims: defineTable({
    userId: v.string(),
    /** The claimer's login. */
    tokenIdentifier: v.string(),
    /** Others' settings that the claimer keeps. */
    keep: v.array(vLeftover),
    /** HMAC of the code that contests the claim; it was sent to the id's channels. */
    codeHash: v.string(),
    /** Whether the id had a channel for that code. */
    told: v.optional(v.boolean()),
    openedAt: v.number(),
    dueAt: v.number(),
    state: literals("open", "done", "refused", "contested", "withdrawn"),
    endedAt: v.optional(v.number()),
  })
    .index("by_userId_and_state", ["userId", "state"])
    .index("by_tokenIdentifier_and_state", ["tokenIdentifier", "state"])
    .index("by_codeHash", ["codeHash"]),

  /** Changes of lost logins, opened by an operator. Written by `account/recovery`. Kept: they say why an account belongs to somebody. */
  rebinds: defineTable({
    userId: v.string(),
    /** The identity provider's issuer and subject, of the lost login and of the new one. */
    from: v.string(),
    to: v.string(),
    reason: v.string(),
    openedAt: v.number(),
    dueAt: v.number(),
    state: literals("open", "done", "refused", "withdrawn"),
    endedAt: v.optional(v.number()),
  }).index("by_userId_and_state", ["userId", "state"]),
};

export const accountRecords: RecordsOf<typeof accountTables> = {
  pendingClaims: {
    keep: "they say why an account belongs to somebody",
    ownedBy: { rows: ofUser("by_userId_and_state"), section: "claims", onDeletion: "stay" },
    withheld: ["codeHash", "tokenIdentifier"],
  },
  rebinds: { keep: "they say why an account belongs to somebody" },
  accountDeletions: {
    keep: "the record of a user's wish",
    ownedBy: { rows: ofUser("by_userId"), section: "deletions", onDeletion: "stay" },
  },
};
