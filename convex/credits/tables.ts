import { defineTable } from "convex/server";
import { v } from "convex/values";
import { ofUser, type RecordsOf } from "../lib/records/records";

const vTransactionType = v.union(v.literal("deposit"), v.literal("deduction"), v.literal("refund"));

const vCreditSource = v.union(
  v.literal("usdc"),
  v.literal("arcade"),
  v.literal("agent_run"),
  /** A paid report bought with a transfer that had been credited before. */
  v.literal("report"),
);

export const vGameResult = v.object({
  levelReached: v.number(),
  /** levelReached x 100. */
  creditsEarned: v.number(),
  /** The credited part: less than earned once the day's cap is reached. */
  credited: v.number(),
  /** Why that is less, if it is. */
  less: v.optional(v.string()),
});

export const creditTables = {
  /**
   * The ledger (the spec's Credit transaction): append-only, never patched, kept for ever. Written by `credits/model`
   * alone. A deposit and a refund add `amount`, a deduction takes it away; a user's newest row has the balance.
   */
  creditTransactions: defineTable({
    userId: v.string(),
    type: vTransactionType,
    /** Whole credits, positive; 0 if a run cost exactly its estimate and only its model and tokens are recorded. */
    amount: v.number(),
    model: v.optional(v.string()),
    tokensUsed: v.optional(v.number()),
    agentId: v.optional(v.string()),
    source: vCreditSource,
    /** The unique purpose of this row: `run:<id>:reserve`, a deposit's transfer, … */
    key: v.string(),
    /** Counts the user's rows from 1. */
    sequence: v.number(),
    balanceAfter: v.number(),
    at: v.number(),
  })
    .index("by_key", ["key"])
    .index("by_userId_and_sequence", ["userId", "sequence"]),

  /** Arcade games, opened by the server, one result each. Written by `credits/games`. Kept with the ledger. */
  gameSessions: defineTable({
    userId: v.string(),
    openedAt: v.number(),
    expiresAt: v.number(),
    /** Its one result; absent while it is played. */
    result: v.optional(
      vGameResult.extend({
        finishedAt: v.number(),
        /** What the user's games have earned on that UTC day, this one included. */
        today: v.number(),
      }),
    ),
  }).index("by_userId", ["userId", "result.finishedAt"]),
};

export const creditRecords: RecordsOf<typeof creditTables> = {
  creditTransactions: {
    keep: "the ledger",
    ownedBy: { rows: ofUser("by_userId_and_sequence"), section: "credits", onDeletion: "stay" },
  },
  gameSessions: {
    keep: "the ledger's rows name them",
    ownedBy: { rows: ofUser("by_userId"), section: "games", onDeletion: "stay" },
  },
};
