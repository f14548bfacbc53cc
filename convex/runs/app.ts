import { v } from "convex/values";
import { parse } from "convex-helpers/validators";
import { query } from "../_generated/server";
import { rowsBy } from "../lib/records";
import { ownRows } from "../accounts/lists";
import { requireUser } from "../accounts/model";
import { runTables } from "./tables";

const vRun = runTables.agentRuns.validator
  .omit("userId", "idempotencyKey")
  .extend({ _id: v.id("agentRuns") });

/** The user's runs, newest first: those they started and those of their research shifts. */
export const mine = ownRows(vRun, (db, userId) => rowsBy(db.query("agentRuns"), "userId", userId));

/** One of the user's runs, to watch until it ends; `null` when they have no such run. */
export const one = query({
  args: { runId: v.id("agentRuns") },
  returns: v.union(vRun, v.null()),
  handler: async (ctx, { runId }) => {
    const { userId } = await requireUser(ctx);
    const run = await ctx.db.get("agentRuns", runId);
    return run === null || run.userId !== userId ? null : parse(vRun, run);
  },
});
