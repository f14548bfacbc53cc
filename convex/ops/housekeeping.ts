import { v } from "convex/values";
import { internal } from "../_generated/api";
import { internalMutation } from "../_generated/server";
import { recordCronRun } from "../lib/cronRuns";
import { log } from "../lib/log";
import { RETENTION } from "./retention";

/** Every range of rows that goes, by its place in the list: a table's name, and which of its ranges. */
const steps = Object.entries(RETENTION).flatMap(([table, retention]) =>
  "sweeps" in retention ? retention.sweeps.map((sweep, index) => ({ name: `${table} ${index}`, sweep })) : [],
);

/** Deletes what has aged, as `ops/retention` says. */
export const run = internalMutation({
  args: {},
  returns: v.null(),
  handler: async (ctx) => {
    await ctx.scheduler.runAfter(0, internal.ops.housekeeping.step, {
      name: steps[0]?.name ?? "",
      startedAt: Date.now(),
      cursor: null,
      deleted: 0,
    });
    return null;
  },
});

/**
 * One batch of one step, then schedules what follows: one transaction at a time, however much there is. Running it twice
 * deletes nothing twice.
 */
export const step = internalMutation({
  args: {
    name: v.string(),
    /** What is old is told from this moment, epoch ms: the same one for all batches of a run. */
    startedAt: v.number(),
    cursor: v.union(v.string(), v.null()),
    /** So many rows went in this step so far. */
    deleted: v.number(),
  },
  returns: v.null(),
  handler: async (ctx, { name, startedAt, cursor, deleted }) => {
    const at = steps.findIndex((one) => one.name === name);
    const sweep = steps[at]?.sweep;
    // The list was changed by a deployment in the middle of a run: the next one does all of it.
    if (sweep === undefined) return null;
    const batch = await sweep.batch(ctx, startedAt - sweep.keptMs, cursor);
    const sum = deleted + batch.deleted;
    const following = steps[at + 1];
    if (batch.cursor === null && sum > 0) log.info("housekeeping", { rows: name, deleted: sum });
    if (batch.cursor !== null) {
      const more = { name, startedAt, cursor: batch.cursor, deleted: sum };
      await ctx.scheduler.runAfter(0, internal.ops.housekeeping.step, more);
    } else if (following !== undefined) {
      const next = { name: following.name, startedAt, cursor: null, deleted: 0 };
      await ctx.scheduler.runAfter(0, internal.ops.housekeeping.step, next);
    } else {
      await recordCronRun(ctx, "delete what has aged");
    }
    return null;
  },
});
