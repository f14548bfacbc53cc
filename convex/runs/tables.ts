import { defineTable } from "convex/server";
import { v } from "convex/values";

export const runTables = {
  /** Every piece of work an agent did for a user, as the application shows it. Written by `runs/model`. Kept. */
  agentRuns: defineTable({
    userId: v.string(),
    agentId: v.string(),
    /** What the run was for, for example "Final report on BTC". */
    title: v.string(),
    status: v.union(v.literal("completed"), v.literal("failed")),
    model: v.string(),
    /** Prompt and answer together, as the gateway counted them. */
    tokensUsed: v.number(),
    startedAt: v.number(),
    finishedAt: v.number(),
  }).index("by_userId", ["userId", "finishedAt"]),
};
