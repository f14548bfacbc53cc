import { getFunctionName, type FunctionReference } from "convex/server";
import { v, type Infer, type ObjectType, type Value } from "convex/values";
import { internal } from "../_generated/api";
import type { Doc, Id } from "../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../_generated/server";
import { classOf } from "./payers";
import { sha256Hex } from "./crypto";
import { AppError } from "./errors";
import type { Caller } from "./limits";
import { quotaHeaders } from "./quotas";
import { mayTake } from "./shares";
import { LANES, type vLane } from "./tables";
import { MINUTE, SECOND } from "./time";

/**
 * Where model calls of scheduled work wait. The small platform class runs 8 scheduled functions at once; four places are
 * shared by four lanes, so that whatever waits in one of them neither stops another nor the sends, deposits and cards.
 * Inside a lane the owners take turns.
 */

export type Lane = Infer<typeof vLane>;

/** All that run at once; the rest of the 8 is for deliveries, wallets, deposits and crons. */
const PLACES = 4;
/** The most that one lane runs at once. */
const MOST = 2;
/**
 * Requests that may wait in a lane, of which an owner has a tenth at most of what is left (`lib/shares`). Work that was
 * accepted earlier always may.
 */
const DEPTH = 40;
const DEPTH_OF_OWNER = DEPTH / 10;
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

/** Where a caller's request waits: strangers by their address, since names cost them nothing. */
export function placeOf(caller: Caller): Place {
  const lane = classOf(caller);
  const { userId, address } = caller;
  const owner = lane === "anonymous" ? (address ?? userId) : (userId ?? address);
  return { lane, owner: owner ?? "nobody", request: true };
}

/** What a mutation is told of an attempt that failed, beside arguments of its own. */
export const vFailure = {
  error: v.string(),
  /** No other attempt follows. */
  isLast: v.boolean(),
  /** Epoch ms until which it was refused, for example by the day's budget. */
  limitedUntil: v.optional(v.number()),
};
export type Failure = ObjectType<typeof vFailure>;

/** What happens when a job's action throws, or is lost with its server. */
export type Care = {
  /** How often it is tried in all: after 1, 4, 9 … minutes, or at once where it was lost. One, unless said. */
  attempts?: number;
  /** Epoch ms: no other attempt begins from then on. */
  until?: number;
  /** Told of every failed attempt, in the transaction that decides whether another follows. */
  told: { work: string; args: string };
};

/** Names the mutation to tell, and its arguments, which have to be JSON. */
export function telling<Args extends Record<string, Value>>(
  mutation: FunctionReference<"mutation", "internal", Args & Failure>,
  args: Args,
): Care["told"] {
  return { work: getFunctionName(mutation), args: JSON.stringify(args) };
}

/**
 * Has an action run as soon as it is its turn. Its arguments have to be JSON.
 * @param care Left out where whoever owns the work looks after it.
 * @throws AppError `rate_limited` when too many requests wait already.
 */
export async function enter<Args extends Record<string, Value>>(
  ctx: MutationCtx,
  { owner, ...place }: Place,
  action: FunctionReference<"action", "internal", Args>,
  args: Args,
  care?: Care,
): Promise<void> {
  const named = { work: getFunctionName(action), args: JSON.stringify(args) };
  const tried = care === undefined ? {} : { care: { attempts: 1, ...care, attempt: 1 } };
  await admit(ctx, { ...place, owner: sha256Hex(owner) }, { ...named, ...tried });
}

/** A job without its place: what runs, and what happens when that fails. */
export type Job = Pick<Doc<"laneJobs">, "work" | "args" | "care">;

/** Gives a job a place, or has it wait for one. @param place Its owner hashed. */
export async function admit(ctx: MutationCtx, { request, ...place }: Place, job: Job): Promise<void> {
  const { lane, owner } = place;
  const running = await runningJobs(ctx);
  const first = await firstOf(ctx, lane);
  if (first === null && mayStart(lane, running)) {
    const jobId = await ctx.db.insert("laneJobs", {
      ...{ ...place, ...job },
      state: "running",
      turn: 0,
      leaseUntil: Date.now() + LEASE_MS,
    });
    await start(ctx, jobId, job);
    return;
  }
  const own = await ctx.db
    .query("laneJobs")
    .withIndex("by_owner", (q) => q.eq("lane", lane).eq("state", "waiting").eq("owner", owner))
    .order("desc")
    .take(DEPTH_OF_OWNER + 1);
  if (request) await refuseFull(ctx, lane, own.length);
  // Whoever has nothing waiting comes behind those who have as little, and before everybody's second.
  const turn = Math.max(first?.turn ?? 0, (own[0]?.turn ?? -1) + 1);
  await ctx.db.insert("laneJobs", { ...place, ...job, state: "waiting", turn, leaseUntil: 0 });
}

/** Gives free places to whose turn it is. */
export async function fill(ctx: MutationCtx): Promise<void> {
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
  const left = DEPTH - waiting.length;
  if (mayTake({ own, left, amount: 1 })) return;
  const whose =
    left > 0 ? "As many of your requests are waiting as one caller's may" : "Too many requests are waiting";
  throw new AppError("rate_limited", `${whose} at the moment: try again shortly`, {
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

export async function runningJobs(ctx: QueryCtx): Promise<Doc<"laneJobs">[]> {
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
  const scheduled = await ctx.scheduler.runAfter(0, internal.lib.jobs.run, { jobId, work, args });
  await ctx.db.patch("laneJobs", jobId, { scheduled });
}
