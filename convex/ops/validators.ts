import { v } from "convex/values";

/** What is stored of the shapes of `ops/shapes`. Written by `npm run codegen`; a test holds both against one another. */

export const vOwnChecks = v.object({
  crons: v.record(v.string(), v.union(v.number(), v.null())),
  outbox: v.object({ waiting: v.number(), oldestSeconds: v.union(v.number(), v.null()) }),
  pending: v.record(v.string(), v.union(v.number(), v.null())),
  lanes: v.record(v.string(), v.object({ running: v.number(), waiting: v.number() })),
  work: v.object({ running: v.number(), waiting: v.number(), resting: v.number(), failing: v.number() }),
  links: v.object({ unconfirmed: v.number() }),
  providers: v.record(
    v.string(),
    v.object({ calls: v.number(), failures: v.number(), errorRate: v.number() }),
  ),
  budget: v.object({
    resetsAt: v.string(),
    limitUsd: v.number(),
    spentUsd: v.number(),
    providers: v.record(v.string(), v.object({ spentUsd: v.number(), by: v.record(v.string(), v.number()) })),
  }),
});
