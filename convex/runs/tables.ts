import { defineTable } from "convex/server";
import { v } from "convex/values";
import { indexOfUser, type RecordsOf } from "../platform/records";

const vRunStatus = v.union(v.literal("running"), v.literal("completed"), v.literal("failed"));

export const runTables = {
  /**
   * Every piece of work an agent did for a user, as the application shows it. Written by `runs/model`; kept until the
   * user deletes their data.
   */
  agentRuns: defineTable({
    userId: v.string(),
    agentId: v.string(),
    /** What the run was for, for example "Final report on BTC". */
    title: v.string(),
    status: vRunStatus,
    /** The model that answered; absent before and without an answer. */
    model: v.optional(v.string()),
    /** Prompt and answer together, as the gateway counted them. */
    tokensUsed: v.optional(v.number()),
    startedAt: v.number(),
    /** Absent while running. */
    finishedAt: v.optional(v.number()),
    error: v.optional(v.string()),
    /** For a run that the user started: the question, the answer, and the cost in credits. */
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
