import { makeFunctionReference } from "convex/server";
import { v, type Infer, type Value } from "convex/values";
import * as z from "zod";
import { internal } from "../_generated/api";
import type { Doc } from "../_generated/dataModel";
import { internalAction, internalMutation, type MutationCtx } from "../_generated/server";
import { lostWork } from "./cronRuns";
import { failureOf, messageOf } from "./errors";
import { admit, fill, runningJobs, vFailure, type Failure } from "./lanes";
import { log } from "./log";
import { vCare, vLane } from "./tables";
import { MINUTE } from "./time";

/**
 * The work of the lanes: a job runs, and when its action throws or is lost with its server, it runs again as its `care`
 * says, and the mutation named there is told.
 */

const vValues = z.record(z.string(), z.json());

const vFailed = v.object({ error: vFailure.error, limitedUntil: vFailure.limitedUntil });
type Failed = Infer<typeof vFailed>;

const INTERRUPTED: Failed = { error: "The attempt was interrupted" };

/** Runs one job, and gives its place to the next. */
export const run = internalAction({
  args: { jobId: v.id("laneJobs"), work: v.string(), args: v.string() },
  returns: v.null(),
  handler: async (ctx, { jobId, work, args }) => {
    let failure: Failed | null = null;
    try {
      const action = makeFunctionReference<"action", Record<string, Value>>(work);
      await ctx.runAction(action, vValues.parse(JSON.parse(args)));
    } catch (thrown) {
      const { code, retryAfterMs } = failureOf(thrown) ?? {};
      const limited = code === "rate_limited" && retryAfterMs !== undefined;
      failure = {
        error: messageOf(thrown),
        ...(limited ? { limitedUntil: Date.now() + retryAfterMs } : {}),
      };
    }
    await ctx.runMutation(internal.lib.jobs.leave, { jobId, failure });
    return null;
  },
});

export const leave = internalMutation({
  args: { jobId: v.id("laneJobs"), failure: v.union(vFailed, v.null()) },
  returns: v.null(),
  handler: async (ctx, { jobId, failure }) => {
    const job = await ctx.db.get("laneJobs", jobId);
    if (job !== null) await end(ctx, job, failure, "failed");
    await fill(ctx);
    return null;
  },
});

/** Takes back the places of what was lost, and has it run again where it is to. */
export const resumeLost = lostWork(async (ctx, now) => {
  for (const job of await runningJobs(ctx)) {
    const { leaseUntil, scheduled } = job;
    const run = scheduled === undefined ? null : await ctx.db.system.get("_scheduled_functions", scheduled);
    const goesOn = run?.state.kind === "pending" || run?.state.kind === "inProgress";
    if (!goesOn || leaseUntil <= now) await end(ctx, job, INTERRUPTED, "lost");
  }
  await fill(ctx);
});

async function end(
  ctx: MutationCtx,
  { _id, lane, owner, work, args, care }: Doc<"laneJobs">,
  failure: Failed | null,
  how: "failed" | "lost",
): Promise<void> {
  await ctx.db.delete("laneJobs", _id);
  if (failure === null) return;
  log.warn(`lanes.${how}`, { work, attempt: care?.attempt ?? 1, error: failure.error });
  if (care === undefined) return;
  const { attempt, attempts, until, told } = care;
  const rest = how === "lost" ? 0 : attempt * attempt * MINUTE;
  const isLast = attempt >= attempts || (until !== undefined && Date.now() + rest >= until);
  if (!isLast) {
    const again = { lane, owner, work, args, care: { ...care, attempt: attempt + 1 } };
    await ctx.scheduler.runAfter(rest, internal.lib.jobs.again, again);
  }
  await tell(ctx, told, { ...failure, isLast });
}

async function tell(ctx: MutationCtx, { work, args }: { work: string; args: string }, failure: Failure) {
  try {
    const mutation = makeFunctionReference<"mutation", Record<string, Value>>(work);
    await ctx.runMutation(mutation, { ...vValues.parse(JSON.parse(args)), ...failure });
  } catch (thrown) {
    // What it did is undone, and nothing else is: the place of a job that has ended goes to the next in any case.
    log.error("lanes.untold", { work, error: messageOf(thrown) });
  }
}

/** Another attempt, after its rest. */
export const again = internalMutation({
  args: { lane: vLane, owner: v.string(), work: v.string(), args: v.string(), care: vCare },
  returns: v.null(),
  handler: async (ctx, { lane, owner, ...job }) => {
    await admit(ctx, { lane, owner, request: false }, job);
    return null;
  },
});
