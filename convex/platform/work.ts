import { getFunctionName, makeFunctionReference, type FunctionReference } from "convex/server";
import { v, type Infer, type ObjectType, type Value } from "convex/values";
import { getOneFrom } from "convex-helpers/server/relationships";
import { omit } from "convex-helpers";
import { internal } from "../_generated/api";
import type { Doc } from "../_generated/dataModel";
import { internalQuery, type MutationCtx, type QueryCtx } from "../_generated/server";
import { defineMutation } from "./changes";
import { getErrorMessage, limitExceeded } from "../lib/errors";
import { literals } from "../lib/literals";
import { log } from "../lib/log";
import { MINUTE, SECOND } from "../lib/time";
import { getSizes } from "./limits/sizes";

/**
 * One queue for every piece of leased work. A room opens it in the mutation that decides it, names the action that does it,
 * and ends it in the mutation that stores the result: stored work is never done again. An action that throws is tried again
 * after 1, 4, 9 … minutes, one that was lost with its server as soon as that is seen; the room's mutation learns of both. A
 * transaction that enqueues or completes work does not fill the queue itself (`startNext` does): otherwise all of them
 * would conflict.
 */

/** One attempt at a piece of work; its action receives it, and ends it. */
export const vJob = v.object({ workId: v.id("work"), attempt: v.number() });
export type Job = Infer<typeof vJob>;

/** What a mutation learns of a failed attempt, in addition to its own arguments. */
export const vFailure = {
  error: v.string(),
  /** As in `lib/errors`; absent for unexpected errors, whose message is for the operator alone. */
  code: v.optional(v.string()),
  /** No further attempt follows. */
  isLast: v.boolean(),
};
export type WorkFailure = ObjectType<typeof vFailure>;

/** The order in which waiting work begins. */
const RANKS = { paid: 0, service: 1, signedIn: 2, anonymous: 3 };
type Rank = keyof typeof RANKS;

/** The queues whose work waits for a place. */
const QUEUES = ["models", "orders"] as const;
const vQueue = literals(...QUEUES);
type Queue = Infer<typeof vQueue>;

/** How a piece of work is done, besides its action; `platform/tables` says what the row's fields mean. */
export type Terms = Pick<Doc<"work">, "attempts" | "until" | "onFailure" | "subject"> & {
  /** The queue in which it waits for a place; absent: it begins as soon as it is due. */
  queue?: Queue;
  /** Absent: `service`. */
  rank?: Rank;
};

/** How many pieces of a queue's work run at once. */
const getWidth = (queue: Queue): number => getSizes()[queue];
/** Callers' own work leaves one place to paid and scheduled work. */
const LEFT_TO_OTHERS = 1;
/** Longer than any work here: an attempt that has not ended by then was lost with its server. */
const LEASE_MS = 10 * MINUTE;
/** The longest pause after a failure. */
const LONGEST_PAUSE_MS = 30 * MINUTE;
/** How many rows of a state one transaction reads. */
const BATCH = 100;

/** The mutation that is notified of failures, and its arguments. */
export function buildFailureHandler<Args extends Record<string, Value>>(
  mutation: FunctionReference<"mutation", "internal", Args & WorkFailure>,
  args: Args,
): NonNullable<Terms["onFailure"]> {
  return { run: getFunctionName(mutation), args };
}

/**
 * Enqueues an action: it runs once it is due and its queue has a free place. The action gets `job` besides its own
 * arguments; the mutation that stores its result calls `completeWork` with it.
 * @example
 * await enqueueWork(ctx, writeReport, { reportId }, { queue: "models", subject: reportId, attempts: 4 });
 */
export async function enqueueWork<Args extends Record<string, Value>>(
  ctx: MutationCtx,
  action: FunctionReference<"action", "internal", Args & { job: Job }>,
  args: Args,
  { queue, rank = "service", ...terms }: Terms = {},
): Promise<void> {
  const begun = { state: "waiting" as const, at: Date.now(), attempt: 0, failures: 0 };
  const fields = {
    queue: queue ?? ("free" as const),
    rank: RANKS[rank],
    run: getFunctionName(action),
    args,
    ...terms,
    ...begun,
  };
  const _id = await ctx.db.insert("work", fields);
  await continueAfter(ctx, { ...fields, _id }, 0);
}

/** When to try again if the queue is too long. */
const RETRY_MS = 10 * SECOND;

/**
 * Refuses a caller's work that would get its place too late for its caller: as many may wait as callers have places. Read
 * from a snapshot that may be a moment old: a current read would make all callers conflict.
 * @throws AppError `rate_limited`
 */
export async function refuseLate(ctx: MutationCtx, rank: Rank): Promise<void> {
  const stale = { useStaleSnapshot: true };
  const given = { rank: RANKS[rank], now: Date.now() };
  if (await ctx.runQuery(internal.platform.work.isQueueLong, given, stale))
    throw limitExceeded("All places for new answers are taken, and enough callers wait for one", RETRY_MS);
}

/** Whether as much work as may wait is waiting before work of a rank. */
export const isQueueLong = internalQuery({
  args: { rank: v.number(), now: v.number() },
  returns: v.boolean(),
  handler: async (ctx, { rank, now }) => {
    let left = getSizes().models - LEFT_TO_OTHERS;
    for (const one of Object.values(RANKS).filter((before) => before <= rank)) {
      const waiting = await queryWaiting(ctx, "models", one, now).take(left);
      left -= waiting.length;
      if (left <= 0) return true;
    }
    return false;
  },
});

/** Due work of a rank that waits for a place, the oldest first. */
function queryWaiting(ctx: QueryCtx, queue: Queue, rank: number, now: number) {
  return ctx.db
    .query("work")
    .withIndex("by_queue", (q) =>
      q.eq("queue", queue).eq("state", "waiting").eq("rank", rank).lte("at", now),
    );
}

/** The work about a subject that its room has opened, or `null`. */
export async function findWork(ctx: QueryCtx, subject: string): Promise<Doc<"work"> | null> {
  return getOneFrom(ctx.db, "work", "by_subject", subject);
}

/** The work of the current attempt; messages from any other attempt are dropped. */
export async function getRunningWork(ctx: QueryCtx, { workId, attempt }: Job): Promise<Doc<"work"> | null> {
  const row = await ctx.db.get("work", workId);
  return row?.state === "running" && row.attempt === attempt ? row : null;
}

/**
 * Ends the work of an attempt, in the mutation that stores the result.
 * @returns Whether the attempt was current; if not, the result is dropped.
 */
export async function completeWork(ctx: MutationCtx, job: Job): Promise<boolean> {
  const row = await getRunningWork(ctx, job);
  if (row !== null) await close(ctx, row);
  return row !== null;
}

/** Ends the work about a subject, if there is any; the result of a running attempt is dropped. */
export async function cancel(ctx: MutationCtx, subject: string): Promise<void> {
  const row = await findWork(ctx, subject);
  if (row !== null) await close(ctx, row);
}

/**
 * Puts work off: it continues after this long.
 * @param args What its action gets then; as before unless they are given.
 * @returns Whether the attempt was current.
 */
export async function snoozeWork(
  ctx: MutationCtx,
  job: Job,
  ms: number,
  args?: Record<string, Value>,
): Promise<boolean> {
  const row = await getRunningWork(ctx, job);
  if (row !== null && args !== undefined) await ctx.db.patch("work", row._id, { args });
  if (row !== null) await putOff(ctx, { ...row, ...(args === undefined ? {} : { args }) }, ms);
  return row !== null;
}

/** Begins waiting work now. */
export async function runWorkNow(ctx: MutationCtx, row: Doc<"work">): Promise<void> {
  if (row.state !== "waiting") return;
  const at = Math.min(row.at, Date.now());
  if (at < row.at) await ctx.db.patch("work", row._id, { at });
  await continueAfter(ctx, { ...row, at }, 0);
}

/** Applies the one rule after an attempt that threw or was lost. */
async function retryOrFail(
  ctx: MutationCtx,
  row: Doc<"work">,
  failure: Omit<WorkFailure, "isLast">,
  how: "failed" | "lost",
): Promise<void> {
  const failures = row.failures + 1;
  const { run, attempts = Infinity, until = Infinity, onFailure } = row;
  log.warn(`work.${how}`, { run, failures, error: failure.error });
  const pause = how === "lost" ? 0 : Math.min(failures * failures * MINUTE, LONGEST_PAUSE_MS);
  const isLast = failures >= attempts || Date.now() + pause >= until;
  if (isLast) await close(ctx, row);
  else await putOff(ctx, row, pause, failures);
  if (onFailure !== undefined) await callHandler(ctx, onFailure, { ...failure, isLast });
}

/** Starts what is due and has a place: the lowest rank first, and of the same the oldest. */
async function fill(ctx: MutationCtx, queue: Queue): Promise<void> {
  const width = getWidth(queue);
  const running = await ctx.db
    .query("work")
    .withIndex("by_queue", (q) => q.eq("queue", queue).eq("state", "running"))
    .take(width);
  let free = width - running.length;
  for (const rank of Object.values(RANKS)) {
    const isOwed = queue !== "models" || rank <= RANKS.service;
    const most = isOwed ? free : free - LEFT_TO_OTHERS;
    if (most <= 0) continue;
    const due = await queryWaiting(ctx, queue, rank, Date.now()).take(most);
    for (const row of due) await start(ctx, row);
    free -= due.length;
  }
}

type Opened = Omit<Doc<"work">, "_creationTime">;

async function start(ctx: MutationCtx, { _id: workId, run, args, ...row }: Opened): Promise<void> {
  const attempt = row.attempt + 1;
  const action = makeFunctionReference<"action", Record<string, Value>>(run);
  const scheduled = await ctx.scheduler.runAfter(0, action, { ...args, job: { workId, attempt } });
  await ctx.db.patch("work", workId, { state: "running", attempt, at: Date.now() + LEASE_MS, scheduled });
}

async function close(ctx: MutationCtx, { _id, queue, state }: Doc<"work">): Promise<void> {
  await ctx.db.delete("work", _id);
  if (queue !== "free" && state === "running") await passPlaceOn(ctx, queue);
}

/** Gives a place that has become free to what waits; whatever is enqueued later looks for a place itself. */
async function passPlaceOn(ctx: MutationCtx, queue: Queue): Promise<void> {
  const waiting = ctx.db
    .query("work")
    .withIndex("by_queue", (q) => q.eq("queue", queue).eq("state", "waiting"));
  if ((await waiting.first()) !== null) await scheduleNext(ctx, queue);
}

async function putOff(ctx: MutationCtx, row: Doc<"work">, ms: number, failures = row.failures) {
  const { _id, queue } = row;
  const changed = { failures, state: "waiting" as const, at: Date.now() + ms };
  await ctx.db.patch("work", _id, { ...changed, scheduled: undefined });
  if (queue !== "free" && ms > 0) await scheduleNext(ctx, queue);
  await continueAfter(ctx, { ...row, ...changed }, ms);
}

async function continueAfter(ctx: MutationCtx, row: Opened, ms: number): Promise<void> {
  const { _id: workId, queue } = row;
  if (ms > 0) await ctx.scheduler.runAfter(ms, internal.platform.work.resumeWork, { workId });
  else if (queue === "free") await start(ctx, row);
  else await scheduleNext(ctx, queue);
}

async function scheduleNext(ctx: MutationCtx, queue: Queue): Promise<void> {
  await ctx.scheduler.runAfter(0, internal.platform.work.startNext, { queue });
}

async function callHandler(
  ctx: MutationCtx,
  { run, args }: NonNullable<Doc<"work">["onFailure"]>,
  failure: WorkFailure,
) {
  try {
    const mutation = makeFunctionReference<"mutation", Record<string, Value>>(run);
    await ctx.runMutation(mutation, { ...args, ...failure });
  } catch (thrown) {
    // Only the handler's changes are rolled back: the next job gets the freed place in any case.
    log.error("work.handlerFailed", { run, error: getErrorMessage(thrown) });
  }
}

/** Starts what is due in a queue and has a place. */
export const startNext = defineMutation({ queue: vQueue }, (ctx, { queue }) => fill(ctx, queue));

/** Begins work whose pause is over. */
export const resumeWork = defineMutation({ workId: v.id("work") }, async (ctx, { workId }) => {
  const row = await ctx.db.get("work", workId);
  // Another server's clock may be a little behind.
  if (row !== null && row.at <= Date.now() + SECOND) await runWorkNow(ctx, row);
});

export const fail = defineMutation(
  { job: vJob, ...omit(vFailure, ["isLast"]) },
  async (ctx, { job, ...failure }) => {
    const row = await getRunningWork(ctx, job);
    if (row !== null) await retryOrFail(ctx, row, failure, "failed");
  },
);

/** Ends work that has nothing left to do. */
export const discardWork = defineMutation({ job: vJob }, async (ctx, { job }) => {
  await completeWork(ctx, job);
});

/**
 * Resumes work that was lost with a server: attempts that ended without a message or whose lease has run out, and due work
 * that never began.
 */
export const resumeLost = defineMutation({}, async (ctx) => {
  const { lost, waiting } = await listOverdue(ctx, Date.now());
  const interrupted = { error: "The attempt was interrupted", code: "upstream" };
  // The handler of one failure may have ended other work.
  for (const { _id: workId, attempt } of lost) {
    const row = await getRunningWork(ctx, { workId, attempt });
    if (row !== null) await retryOrFail(ctx, row, interrupted, "lost");
  }
  for (const { _id, queue } of waiting) {
    const row = queue === "free" ? await ctx.db.get("work", _id) : null;
    if (row !== null) await runWorkNow(ctx, row);
  }
  for (const queue of QUEUES) if (waiting.some((row) => row.queue === queue)) await scheduleNext(ctx, queue);
});

/** Since when an attempt has been lost, or work that is due has not begun; `null` if there is neither. */
export async function getLostSince(ctx: QueryCtx, now: number): Promise<number | null> {
  const { lost, waiting } = await listOverdue(ctx, now);
  const [first] = [...lost, ...waiting].map(({ at }) => Math.min(now, at));
  return first ?? null;
}

/** Attempts that were lost, and waiting work that should have begun a minute ago. */
async function listOverdue(ctx: QueryCtx, now: number) {
  const inState = (state: "running" | "waiting", before: number) =>
    ctx.db
      .query("work")
      .withIndex("by_state_and_at", (q) => q.eq("state", state).lt("at", before))
      .take(BATCH);
  const lost: Doc<"work">[] = [];
  for (const row of await inState("running", Infinity)) {
    const { at, scheduled } = row;
    const run = scheduled === undefined ? null : await ctx.db.system.get("_scheduled_functions", scheduled);
    const isOver =
      scheduled !== undefined && run?.state.kind !== "pending" && run?.state.kind !== "inProgress";
    if (at <= now || isOver) lost.push(row);
  }
  return { lost, waiting: await inState("waiting", now - MINUTE) };
}
