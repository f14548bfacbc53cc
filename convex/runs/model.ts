import type { WithoutSystemFields } from "convex/server";
import type { Doc, Id } from "../_generated/dataModel";
import type { MutationCtx } from "../_generated/server";

/** Records one finished run of an agent. */
export async function recordRun(
  ctx: MutationCtx,
  run: WithoutSystemFields<Doc<"agentRuns">>,
): Promise<Id<"agentRuns">> {
  return ctx.db.insert("agentRuns", run);
}
