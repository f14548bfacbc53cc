import { omit } from "convex-helpers";
import { internal } from "../../_generated/api";
import type { Doc } from "../../_generated/dataModel";
import { type QueryCtx } from "../../_generated/server";
import { change } from "../changes";
import { dueWork } from "../cronRuns";
import { keepNoted, vNoted } from "../outside/tallies";
import { MINUTE } from "../time";
import { end, failed, underWay, vFailure, vJob, wake } from "./jobs";
import { fill } from "./lanes";
import { vLane } from "./tables";

/** What happens to work between its attempts. */

/** How much work of a state one run of the cron checks. */
const BATCH = 100;

const INTERRUPTED = { error: "The attempt was interrupted", code: "upstream" };

/** Begins work that has rested. */
export const goOn = change({ job: vJob }, async (ctx, { job }) => {
  await wake(ctx, job);
});

export const fail = change({ job: vJob, ...omit(vFailure, ["isLast"]) }, async (ctx, { job, ...failure }) => {
  const row = await underWay(ctx, job);
  if (row !== null) await failed(ctx, row, failure, "failed");
});

/** Ends work that has nothing left to do. */
export const drop = change({ job: vJob, noted: vNoted }, async (ctx, { job, noted }) => {
  await end(ctx, job);
  await keepNoted(ctx, noted);
});

/**
 * Resumes work that was lost with a server: attempts that ended without a message or whose lease has run out, and rests
 * that nobody has ended. Each runs in a transaction of its own, so that a conflict delays no other.
 */
export const resumeLost = dueWork(async (ctx) => {
  const now = Date.now();
  for (const row of await firstBy(ctx, "running")) {
    const job = { workId: row._id, attempt: row.attempt };
    if (await isLost(ctx, row, now)) await ctx.scheduler.runAfter(0, internal.lib.work.turns.lose, { job });
  }
  for (const { _id: workId, attempt, at } of await firstBy(ctx, "resting")) {
    if (at >= now - MINUTE) continue;
    await ctx.scheduler.runAfter(0, internal.lib.work.turns.goOn, { job: { workId, attempt } });
  }
  const waiting = await firstBy(ctx, "waiting");
  const lanes = new Set(waiting.flatMap(({ lane }) => lane ?? []));
  for (const lane of lanes) await ctx.scheduler.runAfter(0, internal.lib.work.turns.fillFree, { lane });
});

export const lose = change({ job: vJob }, async (ctx, { job }) => {
  const row = await underWay(ctx, job);
  if (row !== null && (await isLost(ctx, row, Date.now()))) await failed(ctx, row, INTERRUPTED, "lost");
});

/** Gives free places to waiting work: the job that should have done so may have been lost. */
export const fillFree = change({ lane: vLane }, async (ctx, { lane }) => {
  // Read from a snapshot: a full lane changes all the time, and a job that ends there starts the next one.
  const isFree: boolean = await ctx.runQuery(
    internal.lib.work.queues.isFree,
    { lane },
    { useStaleSnapshot: true },
  );
  if (isFree) await fill(ctx, lane);
});

async function firstBy(ctx: QueryCtx, state: "running" | "resting" | "waiting"): Promise<Doc<"work">[]> {
  return ctx.db
    .query("work")
    .withIndex("by_state_and_at", (q) => q.eq("state", state))
    .take(BATCH);
}

/** Since when an attempt has been lost; `null` if none is. */
export async function lostSince(ctx: QueryCtx, now: number): Promise<number | null> {
  for (const row of await firstBy(ctx, "running")) {
    if (await isLost(ctx, row, now)) return Math.min(now, row.at);
  }
  return null;
}

async function isLost(ctx: QueryCtx, { at, scheduled }: Doc<"work">, now: number): Promise<boolean> {
  if (at <= now) return true;
  if (scheduled === undefined) return false;
  const run = await ctx.db.system.get("_scheduled_functions", scheduled);
  return run?.state.kind !== "pending" && run?.state.kind !== "inProgress";
}
