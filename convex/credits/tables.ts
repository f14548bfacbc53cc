import { defineTable } from "convex/server";
import { v } from "convex/values";
import { literals } from "../lib/literals";
import { indexOfUser, type RecordsOf } from "../platform/records";

export const vGameResult = v.object({
  levelReached: v.number(),
  /** levelReached x 100. */
  creditsEarned: v.number(),
  /** The part below the day's cap. */
  credited: v.number(),
});

export const creditTables = {
  /**
   * The ledger (the spec's Credit transaction): append-only, never patched, kept for ever. Written by `credits/model`
   * alone. A deposit and a refund add `amount`, a deduction subtracts it; a user's newest row has the balance.
   */
  creditTransactions: defineTable({
    userId: v.string(),
    type: literals("deposit", "deduction", "refund"),
    /** Positive whole credits; 0 in the last row of a run that used its whole reservation, for its model and tokens. */
    amount: v.number(),
    model: v.optional(v.string()),
    tokensUsed: v.optional(v.number()),
    agentId: v.optional(v.string()),
    /** `report`: a paid report bought with a transfer that had been credited before. */
    source: literals("usdc", "arcade", "agent_run", "report"),
    /** Deduplication key: `run:<id>:reserve`, `deposit:<hash>:<position>`, … */
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
    /** Absent until the game has ended. */
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
