import { defineTable } from "convex/server";
import { v } from "convex/values";
import { indexOfUser, type RecordsOf } from "../platform/records";

const vRunStatus = v.union(v.literal("running"), v.literal("completed"), v.literal("failed"));

export const runTables = {
  /** Agent runs, one row each, for the application. Written by `runs/model`; kept until the user deletes their data. */
  agentRuns: defineTable({
    userId: v.string(),
    agentId: v.string(),
    /** For example "Final report on BTC". */
    title: v.string(),
    status: vRunStatus,
    /** The model that answered; absent before and without an answer. */
    model: v.optional(v.string()),
    /** Tokens of the prompt and the answer, as reported by the gateway. */
    tokensUsed: v.optional(v.number()),
    startedAt: v.number(),
    /** Absent while running. */
    finishedAt: v.optional(v.number()),
    error: v.optional(v.string()),
    /** Runs that the user started: the question, the answer, and the cost in credits. */
    question: v.optional(v.string()),
    answer: v.optional(v.string()),
    credits: v.optional(v.number()),
    idempotencyKey: v.optional(v.string()),
  })
    .index("by_userId", ["userId", "startedAt"])
    .index("by_userId_and_idempotencyKey", ["userId", "idempotencyKey"])
    .index("by_status", ["status", "startedAt"]),
};

export const runRecords: RecordsOf<typeof runTables> = {
  agentRuns: {
    keep: "the user's history, until they delete their data",
    ownedBy: {
      rows: indexOfUser("by_userId"),
      section: "runs",
      onDeletion: { whenEnded: ({ status }) => status !== "running" },
    },
  },
};
