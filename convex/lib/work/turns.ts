import { v } from "convex/values";
import { omit } from "convex-helpers";
import { internal } from "../../_generated/api";
import type { Doc } from "../../_generated/dataModel";
import { type QueryCtx } from "../../_generated/server";
import { change } from "../changes";
import { dueWork } from "../cronRuns";
import { literals } from "../literals";
import { keepNoted, vNoted } from "../outside/tallies";
import { MINUTE, SECOND } from "../time";
import { BATCH, end, failed, fill, underWay, vFailure, vJob, wake } from "./jobs";

/** What happens to work between its attempts. */

const INTERRUPTED = { error: "The attempt was interrupted", code: "upstream" };

/** Starts what is due in a queue and has a place. */
export const next = change({ queue: literals("models", "messages") }, (ctx, { queue }) => fill(ctx, queue));

/** Begins work whose pause is over. */
export const goOn = change({ workId: v.id("work") }, async (ctx, { workId }) => {
  const row = await ctx.db.get("work", workId);
  // Another server's clock may be a little behind.
  if (row !== null && row.at <= Date.now() + SECOND) await wake(ctx, row);
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
 * Resumes work that was lost with a server: attempts that ended without a message or whose lease has run out, and work
 * that nobody has begun. Each runs in a transaction of its own, so that a conflict delays no other.
 */
export const resumeLost = dueWork(async (ctx) => {
  const now = Date.now();
  for (const row of await firstBy(ctx, "running", now)) {
    const job = { workId: row._id, attempt: row.attempt };
    if (await isLost(ctx, row, now)) await ctx.scheduler.runAfter(0, internal.lib.work.turns.lose, { job });
  }
  const queues = new Set<"models" | "messages">();
  for (const { _id: workId, queue } of await firstBy(ctx, "waiting", now)) {
    if (queue === "free") await ctx.scheduler.runAfter(0, internal.lib.work.turns.goOn, { workId });
    else queues.add(queue);
  }
  for (const queue of queues) await ctx.scheduler.runAfter(0, internal.lib.work.turns.next, { queue });
});

export const lose = change({ job: vJob }, async (ctx, { job }) => {
  const row = await underWay(ctx, job);
  if (row !== null && (await isLost(ctx, row, Date.now()))) await failed(ctx, row, INTERRUPTED, "lost");
});

/** Running work, and waiting work that should have begun a minute ago. */
async function firstBy(ctx: QueryCtx, state: "running" | "waiting", now: number): Promise<Doc<"work">[]> {
  return ctx.db
    .query("work")
    .withIndex("by_state_and_at", (q) => {
      const inState = q.eq("state", state);
      return state === "running" ? inState : inState.lt("at", now - MINUTE);
    })
    .take(BATCH);
}

/** Since when an attempt has been lost, or work that is due has not begun; `null` if there is neither. */
export async function lostSince(ctx: QueryCtx, now: number): Promise<number | null> {
  for (const row of await firstBy(ctx, "running", now)) {
    if (await isLost(ctx, row, now)) return Math.min(now, row.at);
  }
  const [waiting] = await firstBy(ctx, "waiting", now);
  return waiting?.at ?? null;
}

async function isLost(ctx: QueryCtx, { at, scheduled }: Doc<"work">, now: number): Promise<boolean> {
  if (at <= now) return true;
  if (scheduled === undefined) return false;
  const run = await ctx.db.system.get("_scheduled_functions", scheduled);
  return run?.state.kind !== "pending" && run?.state.kind !== "inProgress";
}
