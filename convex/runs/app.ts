import { paginationOptsValidator, paginationResultValidator } from "convex/server";
import { v } from "convex/values";
import type { Doc } from "../_generated/dataModel";
import { query } from "../_generated/server";
import { requireUser } from "../users/model";
import { runTables } from "./tables";
import { rowsBy } from "../lib/records/rows";

/** Agent runs as the web application shows them. */

const vRun = runTables.agentRuns.validator
  .omit("userId", "idempotencyKey")
  .extend({ _id: v.id("agentRuns") });

/** The user's runs, newest first: those they started and those of their research shifts. */
export const mine = query({
  args: { paginationOpts: paginationOptsValidator },
  returns: paginationResultValidator(vRun),
  handler: async (ctx, { paginationOpts }) => {
    const { userId } = await requireUser(ctx);
    const result = await rowsBy(ctx.db.query("agentRuns"), "userId", userId)
      .order("desc")
      .paginate(paginationOpts);
    return { ...result, page: result.page.map(shown) };
  },
});

/** One of the user's runs, to watch until it ends; `null` when they have no such run. */
export const one = query({
  args: { runId: v.id("agentRuns") },
  returns: v.union(vRun, v.null()),
  handler: async (ctx, { runId }) => {
    const { userId } = await requireUser(ctx);
    const run = await ctx.db.get("agentRuns", runId);
    return run === null || run.userId !== userId ? null : shown(run);
  },
});

function shown(run: Doc<"agentRuns">) {
  const { _creationTime, userId: _, idempotencyKey: __, ...rest } = run;
  return rest;
}
