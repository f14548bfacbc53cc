import { v } from "convex/values";
import { vRefusing } from "../platform/tables";

/** The stored parts of the shapes of `ops/shapes`. A test compares both. */

export const vOwnChecks = v.object({
  crons: v.record(v.string(), v.union(v.number(), v.null())),
  outbox: v.object({ waiting: v.number(), oldestSeconds: v.union(v.number(), v.null()) }),
  pending: v.record(v.string(), v.union(v.number(), v.null())),
  work: v.object({ running: v.number(), waiting: v.number(), failing: v.number() }),
  providers: v.record(
    v.string(),
    v.object({
      works: v.boolean(),
      since: v.string(),
      failedFrom: v.optional(v.string()),
      refuses: v.optional(vRefusing),
    }),
  ),
  budget: v.object({
    resetsAt: v.string(),
    limitUsd: v.number(),
    spentUsd: v.number(),
    providers: v.record(v.string(), v.number()),
  }),
});
