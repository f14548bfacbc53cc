import { defineTable } from "convex/server";
import { v, type Infer } from "convex/values";
import { made, ofUser, type RecordsOf } from "../lib/records/records";

const vTransactionType = v.union(v.literal("deposit"), v.literal("deduction"), v.literal("refund"));

const vCreditSource = v.union(
  v.literal("usdc"),
  v.literal("arcade"),
  v.literal("agent_run"),
  /** A paid report bought with a transfer that had been credited before. */
  v.literal("report"),
  /** A reversed deposit, taken immediately or from later income. */
  v.literal("reversal"),
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

/** A user's balance in the ledger. */
export const vStanding = v.object({
  /** Whole credits, never below zero. */
  balance: v.number(),
  /** Credits of reversed deposits that were already spent; taken from later income. */
  owed: v.number(),
  /** How many rows of the ledger this sums up. */
  transactions: v.number(),
});
export type Standing = Infer<typeof vStanding>;

export const creditTables = {
  /**
   * The ledger (the spec's Credit transaction): append-only, never patched, kept for ever. Written by `credits/model`
   * alone, together with the balance. A deposit and a refund add `amount`, a deduction takes it away.
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
    owedAfter: v.number(),
    at: v.number(),
  })
    .index("by_key", ["key"])
    .index("by_userId_and_sequence", ["userId", "sequence"]),

  /** The ledger's sum per user. Written by `credits/model` in the transaction of each ledger row. Kept. */
  creditBalances: defineTable({
    userId: v.string(),
    ...vStanding.fields,
  }).index("by_userId", ["userId"]),

  /** Deposits that were taken back, each once. Written by `credits/model`. Kept: the user's debt is proven by them. */
  creditReversals: defineTable({
    /** The deposit's key. */
    key: v.string(),
    userId: v.string(),
    amount: v.number(),
    at: v.number(),
  })
    .index("by_key", ["key"])
    .index("by_userId", ["userId"]),

  /**
   * Credits set aside for an agent run, until it is settled or refunded. Written by `credits/reservations`; deleting the
   * account erases ended ones.
   */
  creditReservations: defineTable({
    runId: v.string(),
    userId: v.string(),
    agentId: v.string(),
    amount: v.number(),
    state: v.union(v.literal("held"), v.literal("settled"), v.literal("refunded")),
    /** The final cost of the run; absent while held. */
    cost: v.optional(v.number()),
  })
    .index("by_runId", ["runId"])
    .index("by_userId_and_state", ["userId", "state"]),

  /** Where the daily recomputation of the ledger found a balance wrong. Written by `credits/reconciliation`. Kept. */
  creditDiscrepancies: defineTable({
    userId: v.string(),
    foundAt: v.number(),
    /** The stored balance, and the sum of the ledger's rows. */
    stored: vStanding,
    computed: vStanding,
  }).index("by_foundAt", ["foundAt"]),

  /** Arcade games, opened by the server, one result each. Written by `credits/games`. Kept with the ledger. */
  gameSessions: defineTable({
    userId: v.string(),
    openedAt: v.number(),
    expiresAt: v.number(),
    /** Its one result; absent while it is played. */
    result: v.optional(vGameResult.extend({ finishedAt: v.number() })),
  }).index("by_userId", ["userId", "openedAt"]),

  /** What a user's games earned on a UTC day, for the daily cap. Written by `credits/games`. Dies after 90 days. */
  gameDays: defineTable({
    userId: v.string(),
    /** `2026-01-31` */
    day: v.string(),
    credited: v.number(),
  }).index("by_userId_and_day", ["userId", "day"]),
};

export const creditRecords: RecordsOf<typeof creditTables> = {
  creditTransactions: {
    keep: "the ledger",
    ownedBy: { rows: ofUser("by_userId_and_sequence"), section: "credits", inUse: "any", onDeletion: "stay" },
  },
  creditBalances: { keep: "the ledger's sum, one row per user" },
  creditReversals: {
    keep: "they prove a user's debt",
    ownedBy: { rows: ofUser("by_userId"), section: "reversals", onDeletion: "stay" },
  },
  creditReservations: {
    keep: "they belong to the ledger",
    ownedBy: {
      rows: ofUser("by_userId_and_state"),
      section: "reservations",
      // Only ended ones, since `held` is the first by name; the ledger's rows have their outcome.
      onDeletion: {
        only: (rows, userId) =>
          rows.withIndex("by_userId_and_state", (q) => q.eq("userId", userId).gt("state", "held")),
      },
    },
  },
  creditDiscrepancies: { keep: "faults for a person to understand" },
  gameSessions: {
    keep: "the ledger's rows name them",
    ownedBy: { rows: ofUser("by_userId"), section: "games", inUse: "any", onDeletion: "stay" },
  },
  gameDays: {
    keep: { days: 90, why: "the cap is of one day", aged: made },
  },
};
