import { v } from "convex/values";
import { query } from "../_generated/server";
import { pickFields } from "../lib/objects";
import { requireUser } from "../identity/model";
import { runTables } from "./tables";

const vRun = runTables.agentRuns.validator
  .omit("userId", "idempotencyKey")
  .extend({ _id: v.id("agentRuns") });

/** A run of the signed-in user, for subscriptions; `null` if they have no such run. */
export const one = query({
  args: { runId: v.id("agentRuns") },
  returns: v.union(vRun, v.null()),
  handler: async (ctx, { runId }) => {
    const { userId } = await requireUser(ctx);
    const run = await ctx.db.get("agentRuns", runId);
    return run === null || run.userId !== userId ? null : pickFields(vRun, run);
  },
});
