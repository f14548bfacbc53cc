import { getFunctionName, makeFunctionReference, type FunctionReference } from "convex/server";
import { v, type Infer, type Value } from "convex/values";
import * as z from "zod";
import { internal } from "../_generated/api";
import type { Doc, Id } from "../_generated/dataModel";
import { internalAction, internalMutation, type MutationCtx, type QueryCtx } from "../_generated/server";
import { payerOf } from "./budget";
import { recordCronRun } from "./cronRuns";
import { sha256Hex } from "./crypto";
import { AppError, messageOf } from "./errors";
import type { Caller } from "./limits";
import { log } from "./log";
import { quotaHeaders } from "./quotas";
import { vLane } from "./tables";
import { MINUTE, SECOND } from "./time";

/**
 * Where model calls of scheduled work wait. The small platform class runs 8 scheduled functions at once; four places are
 * shared by four lanes, so that whatever waits in one of them neither stops another nor the sends, deposits and cards.
 * Inside a lane the owners take turns.
 */

export type Lane = Infer<typeof vLane>;

/** In the order in which a free place is given away. */
const LANES = ["service", "paid", "signedIn", "anonymous"] as const satisfies readonly Lane[];
/** All that run at once; the rest of the 8 is for deliveries, wallets, deposits and crons. */
const PLACES = 4;
/** The most that one lane runs at once. */
const MOST = 2;
/** Requests that may wait in a lane, whoever's they are, and of one owner. Work that was accepted earlier always may. */
const DEPTH = 20;
const DEPTH_OF_OWNER = 8;
/** What is not done by then was lost with its server: longer than any work that comes here. */
const LEASE_MS = 10 * MINUTE;
/** Jobs that wait are counted up to here, for the operator. */
const COUNTED = 100;
/** When to come back to a lane that is full. */
const FULL_MS = 10 * SECOND;

/** Who waits where. */
export type Place = {
  lane: Lane;
  /** Whose turn it is counted as. */
  owner: string;
  /** A request that can be refused, which accepted work cannot. */
  request: boolean;
};

const vValues = z.record(z.string(), z.json());

/** Where a caller's request waits: strangers by their address, since names cost them nothing. */
export function placeOf(caller: Caller): Place {
  const lane = payerOf(caller);
  const { userId, address } = caller;
  const owner = lane === "anonymous" ? (address ?? userId) : (userId ?? address);
  return { lane, owner: owner ?? "nobody", request: true };
}

/**
 * Has an action run as soon as it is its turn. Its arguments have to be JSON.
 * @throws AppError `rate_limited` when too many requests wait already.
 */
export async function enter<Args extends Record<string, Value>>(
  ctx: MutationCtx,
  place: Place,
  action: FunctionReference<"action", "internal", Args>,
  args: Args,
): Promise<void> {
  await admit(ctx, place, { work: getFunctionName(action), args: JSON.stringify(args) });
}

async function admit(
  ctx: MutationCtx,
  { lane, owner, request }: Place,
  named: { work: string; args: string },
): Promise<void> {
  const job = { lane, owner: sha256Hex(owner), ...named };
  const running = await runningJobs(ctx);
  const first = await firstOf(ctx, lane);
  if (first === null && mayStart(lane, running)) {
    const jobId = await ctx.db.insert("laneJobs", {
      ...job,
      state: "running",
      turn: 0,
      leaseUntil: Date.now() + LEASE_MS,
    });
    await start(ctx, jobId, job);
    return;
  }
  const own = await ctx.db
    .query("laneJobs")
    .withIndex("by_owner", (q) => q.eq("lane", lane).eq("state", "waiting").eq("owner", job.owner))
    .order("desc")
    .take(DEPTH_OF_OWNER);
  if (request) await refuseFull(ctx, lane, own.length);
  // Whoever has nothing waiting comes behind those who have as little, and before everybody's second.
  const turn = Math.max(first?.turn ?? 0, (own[0]?.turn ?? -1) + 1);
  await ctx.db.insert("laneJobs", { ...job, state: "waiting", turn, leaseUntil: 0 });
}

/** The same, not before `delayMs` from now. */
export async function enterLater<Args extends Record<string, Value>>(
  ctx: MutationCtx,
  place: Omit<Place, "request">,
  action: FunctionReference<"action", "internal", Args>,
  args: Args,
  delayMs: number,
): Promise<void> {
  const later = { ...place, work: getFunctionName(action), args: JSON.stringify(args) };
  await ctx.scheduler.runAfter(delayMs, internal.lib.lanes.enterNow, later);
}

export const enterNow = internalMutation({
  args: { lane: vLane, owner: v.string(), work: v.string(), args: v.string() },
  returns: v.null(),
  handler: async (ctx, { lane, owner, ...named }) => {
    await admit(ctx, { lane, owner, request: false }, named);
    return null;
  },
});

/** Runs one job, and gives its place to the next. */
export const run = internalAction({
  args: { jobId: v.id("laneJobs"), work: v.string(), args: v.string() },
  returns: v.null(),
  handler: async (ctx, { jobId, work, args }) => {
    try {
      const action = makeFunctionReference<"action", Record<string, Value>>(work);
      await ctx.runAction(action, vValues.parse(JSON.parse(args)));
    } catch (error) {
      // Its row says how far it came: whoever owns that takes it up again.
      log.error("lanes.failed", { work, message: messageOf(error) });
    }
    await ctx.runMutation(internal.lib.lanes.leave, { jobId });
    return null;
  },
});

export const leave = internalMutation({
  args: { jobId: v.id("laneJobs") },
  returns: v.null(),
  handler: async (ctx, { jobId }) => {
    if ((await ctx.db.get("laneJobs", jobId)) !== null) await ctx.db.delete("laneJobs", jobId);
    await fill(ctx);
    return null;
  },
});

/** Takes back the places of what was lost. For the cron. */
export const sweep = internalMutation({
  args: {},
  returns: v.null(),
  handler: async (ctx) => {
    await recordCronRun(ctx, "free lost places");
    const now = Date.now();
    for (const { _id, work, leaseUntil, scheduled } of await runningJobs(ctx)) {
      const run = scheduled === undefined ? null : await ctx.db.system.get("_scheduled_functions", scheduled);
      const goesOn = run?.state.kind === "pending" || run?.state.kind === "inProgress";
      if (goesOn && leaseUntil > now) continue;
      log.warn("lanes.lost", { work });
      await ctx.db.delete("laneJobs", _id);
    }
    await fill(ctx);
    return null;
  },
});

/** Gives free places to whose turn it is. */
async function fill(ctx: MutationCtx): Promise<void> {
  const running = await runningJobs(ctx);
  for (let started = true; started;) {
    started = false;
    for (const lane of LANES) {
      if (!mayStart(lane, running)) continue;
      const next = await firstOf(ctx, lane);
      if (next === null) continue;
      const leaseUntil = Date.now() + LEASE_MS;
      await ctx.db.patch("laneJobs", next._id, { state: "running", leaseUntil });
      await start(ctx, next._id, next);
      running.push(next);
      started = true;
    }
  }
}

/** A lane that runs nothing may take the last place; one that runs something leaves it to those. */
function mayStart(lane: Lane, running: readonly { lane: Lane }[]): boolean {
  const own = running.filter((job) => job.lane === lane).length;
  if (own === 0) return running.length < PLACES;
  return own < MOST && running.length < PLACES - 1;
}

async function refuseFull(ctx: MutationCtx, lane: Lane, own: number): Promise<void> {
  const waiting = await ctx.db
    .query("laneJobs")
    .withIndex("by_turn", (q) => q.eq("lane", lane).eq("state", "waiting"))
    .take(DEPTH);
  if (own < DEPTH_OF_OWNER && waiting.length < DEPTH) return;
  throw new AppError("rate_limited", "Too many requests are waiting at the moment: try again shortly", {
    retryAfterMs: FULL_MS,
    headers: quotaHeaders([
      {
        name: "waiting",
        most: DEPTH_OF_OWNER,
        unit: "concurrent-requests",
        windowMs: FULL_MS,
        left: 0,
        againMs: FULL_MS,
      },
    ]),
  });
}

/** How many jobs of each lane run, and how many wait: 100 means that or more. */
export async function laneCounts(ctx: QueryCtx): Promise<Record<Lane, { running: number; waiting: number }>> {
  const running = await runningJobs(ctx);
  const of = async (lane: Lane) => {
    const waiting = await ctx.db
      .query("laneJobs")
      .withIndex("by_turn", (q) => q.eq("lane", lane).eq("state", "waiting"))
      .take(COUNTED);
    return { running: running.filter((job) => job.lane === lane).length, waiting: waiting.length };
  };
  return {
    service: await of("service"),
    paid: await of("paid"),
    signedIn: await of("signedIn"),
    anonymous: await of("anonymous"),
  };
}

async function runningJobs(ctx: QueryCtx): Promise<Doc<"laneJobs">[]> {
  return ctx.db
    .query("laneJobs")
    .withIndex("by_leaseUntil", (q) => q.eq("state", "running"))
    .take(PLACES * 2);
}

async function firstOf(ctx: MutationCtx, lane: Lane): Promise<Doc<"laneJobs"> | null> {
  return ctx.db
    .query("laneJobs")
    .withIndex("by_turn", (q) => q.eq("lane", lane).eq("state", "waiting"))
    .first();
}

async function start(
  ctx: MutationCtx,
  jobId: Id<"laneJobs">,
  { work, args }: { work: string; args: string },
): Promise<void> {
  const scheduled = await ctx.scheduler.runAfter(0, internal.lib.lanes.run, { jobId, work, args });
  await ctx.db.patch("laneJobs", jobId, { scheduled });
}
