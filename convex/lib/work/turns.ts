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

/** Work of a state that is looked at in one run of the cron. */
const BATCH = 100;

const INTERRUPTED = { error: "The attempt was interrupted", code: "upstream" };

/** Begins work that has rested. */
export const goOn = change({ job: vJob }, async (ctx, { job }) => {
  await wake(ctx, job);
});

/** An attempt has thrown. */
export const fail = change({ job: vJob, ...omit(vFailure, ["isLast"]) }, async (ctx, { job, ...failure }) => {
  const row = await underWay(ctx, job);
  if (row !== null) await failed(ctx, row, failure, "failed");
});

/** There is nothing to do any more. */
export const drop = change({ job: vJob, noted: vNoted }, async (ctx, { job, noted }) => {
  await end(ctx, job);
  await keepNoted(ctx, noted);
});

/**
 * Has that taken up which was lost with a server: attempts that ended without a word or whose lease has run out, and rests
 * that nobody has ended. Each in a transaction of its own, so that one which others are at holds up none.
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

/** An attempt was lost. */
export const lose = change({ job: vJob }, async (ctx, { job }) => {
  const row = await underWay(ctx, job);
  if (row !== null && (await isLost(ctx, row, Date.now()))) await failed(ctx, row, INTERRUPTED, "lost");
});

/** Gives free places to waiting work: the job that should have done so may have been lost. */
export const fillFree = change({ lane: vLane }, async (ctx, { lane }) => {
  // Read as it was a moment ago: a full lane changes all the time, and whoever ends there gives the place on.
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

/** Since when an attempt has been lost; `null` where none is. */
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
