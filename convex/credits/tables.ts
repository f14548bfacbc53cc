import { defineTable } from "convex/server";
import { v } from "convex/values";
import { literals } from "../lib/literals";
import { indexOfUser, type RecordsOf } from "../platform/records";

export const vGameResult = v.object({
  levelReached: v.number(),
  /** levelReached x 100. */
  creditsEarned: v.number(),
  /** The credited part: less than earned once the day's cap is reached. */
  credited: v.number(),
});

export const creditTables = {
  /**
   * The ledger (the spec's Credit transaction): append-only, never patched, kept for ever. Written by `credits/model`
   * alone. A deposit and a refund add `amount`, a deduction takes it away; a user's newest row has the balance.
   */
  creditTransactions: defineTable({
    userId: v.string(),
    type: literals("deposit", "deduction", "refund"),
    /** Whole credits, positive; 0 for a run that used all it had reserved, whose model and tokens are recorded. */
    amount: v.number(),
    model: v.optional(v.string()),
    tokensUsed: v.optional(v.number()),
    agentId: v.optional(v.string()),
    /** `report`: a paid report bought with a transfer that had been credited before. */
    source: literals("usdc", "arcade", "agent_run", "report"),
    /** The unique purpose of this row: `run:<id>:reserve`, a deposit's transfer, … */
    key: v.string(),
    /** Counts the user's rows from 1. */
    sequence: v.number(),
    balanceAfter: v.number(),
    at: v.number(),
  })
    .index("by_key", ["key"])
    .index("by_userId_and_sequence", ["userId", "sequence"])
    .index("by_userId_and_source", ["userId", "source", "at"]),

  /** Arcade games, opened by the server. Written by `credits/app`. Kept with the ledger. */
  gameSessions: defineTable({
    userId: v.string(),
    /** Its one result; absent while it is played. */
    result: v.optional(vGameResult),
  }).index("by_userId", ["userId"]),
};

export const creditRecords: RecordsOf<typeof creditTables> = {
  creditTransactions: {
    keep: "the ledger",
    ownedBy: { rows: indexOfUser("by_userId_and_sequence"), section: "credits", onDeletion: "stay" },
  },
  gameSessions: {
    keep: "the ledger's rows name them",
    ownedBy: { rows: indexOfUser("by_userId"), section: "games", onDeletion: "stay" },
  },
};
