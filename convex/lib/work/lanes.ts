import { makeFunctionReference } from "convex/server";
import type { Infer, Value } from "convex/values";
import { internal } from "../../_generated/api";
import type { Doc } from "../../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../../_generated/server";
import type { Caller } from "../limits/callers";
import { classOf } from "../limits/payers";
import { MINUTE } from "../time";
import { MODEL_LANES, type vLane } from "./tables";

/**
 * Lanes in which work waits for a place. The small platform class runs 8 scheduled functions at once: four places are
 * shared by the four lanes of model calls, so that waiting work in one lane stops neither another lane nor sends and
 * deposits, and the messenger's calls have two places of their own. Inside a lane the owners take turns.
 */

export type Lane = Infer<typeof vLane>;

/** How many model calls run at once; the rest of the 8 is for messages, wallets, deposits and crons. */
const PLACES = 4;
/** How many one lane runs at most. */
const MOST = 2;
/** Longer than any work here: an attempt that has not ended by then was lost with its server. */
export const LEASE_MS = 10 * MINUTE;
/** Waiting jobs are counted up to here, for the operator. */
const COUNTED = 100;

/** A row of work; one that was just written is not read again for this. */
export type Opened = Omit<Doc<"work">, "_creationTime">;

/** Who waits in which lane. */
export type Place = {
  lane: Lane;
  /** The owner whose turn it is counted as. */
  owner: string;
};

/** Where a caller's request waits: strangers count by address, because names cost them nothing. */
export function placeOf(caller: Caller): Place {
  const lane = classOf(caller);
  const { userId, address } = caller;
  const owner = lane === "anonymous" ? (address ?? userId) : (userId ?? address);
  return { lane, owner: owner ?? "nobody" };
}

/**
 * Starts work that rests, if it needs no place or there is one; otherwise it waits for its turn.
 */
export async function admit(ctx: MutationCtx, row: Opened): Promise<void> {
  const { _id, lane, owner } = row;
  if (lane === undefined) return start(ctx, row);
  // Read from a snapshot: a current read would make everything in a busy lane conflict.
  const queue: { first: number; own: number } | null = await ctx.runQuery(
    internal.lib.work.queues.standing,
    { lane, owner },
    { useStaleSnapshot: true },
  );
  if (queue === null && (await mayBegin(ctx, lane))) return start(ctx, row);
  // An owner with nothing waiting comes after others' first jobs, and before everybody's second.
  const turn = queue === null ? 0 : Math.max(queue.first, queue.own + 1);
  await ctx.db.patch("work", _id, { state: "waiting", turn, at: Date.now() });
  // The jobs before it may have been served since, and the last place freed when nobody was waiting for it.
  if (queue !== null) await ctx.scheduler.runAfter(0, internal.lib.work.turns.fillFree, { lane });
}

/** Whether there is a place and nobody waits for it. Otherwise the job that frees a place starts the next one. */
async function mayBegin(ctx: MutationCtx, lane: Lane): Promise<boolean> {
  return (await firstOf(ctx, lane)) === null && mayStart(lane, await runningBeside(ctx, lane));
}

/** Gives a lane's free places to the next in turn. */
export async function fill(ctx: MutationCtx, lane: Lane): Promise<void> {
  const running = await runningBeside(ctx, lane);
  for (let started = true; started;) {
    started = false;
    for (const one of besides(lane)) {
      if (!mayStart(one, running)) continue;
      const next = await firstOf(ctx, one);
      if (next === null) continue;
      await start(ctx, next);
      running.push(one);
      started = true;
    }
  }
}

async function start(ctx: MutationCtx, { _id: workId, run, args, ...row }: Opened): Promise<void> {
  const attempt = row.attempt + 1;
  const given = { ...valuesOf(args), job: { workId, attempt } };
  const action = makeFunctionReference<"action", Record<string, Value>>(run);
  const scheduled = await ctx.scheduler.runAfter(0, action, given);
  await ctx.db.patch("work", workId, { state: "running", attempt, at: Date.now() + LEASE_MS, scheduled });
}

/** Arguments that were stored as JSON. */
export function valuesOf(args: string): Record<string, Value> {
  const values: unknown = JSON.parse(args);
  if (!areValues(values)) throw new Error("Arguments must be an object");
  return values;
}

/** Whatever JSON contains is a platform value. */
function areValues(values: unknown): values is Record<string, Value> {
  return typeof values === "object" && values !== null && !Array.isArray(values);
}

async function firstOf(ctx: QueryCtx, lane: Lane): Promise<Doc<"work"> | null> {
  return ctx.db
    .query("work")
    .withIndex("by_turn", (q) => q.eq("lane", lane).eq("state", "waiting"))
    .first();
}

/** The lanes that share their places with one. */
function besides(lane: Lane): readonly Lane[] {
  return lane === "messages" ? [lane] : MODEL_LANES;
}

/** The lane of each running job that has one of the places which a lane shares. */
export async function runningBeside(ctx: QueryCtx, lane: Lane): Promise<Lane[]> {
  const running = await Promise.all(besides(lane).map((one) => runningOf(ctx, one)));
  return running.flat();
}

async function runningOf(ctx: QueryCtx, lane: Lane): Promise<Lane[]> {
  const rows = await ctx.db
    .query("work")
    .withIndex("by_turn", (q) => q.eq("lane", lane).eq("state", "running"))
    .take(PLACES);
  return rows.map(() => lane);
}

/** A lane of models that runs nothing may take the last place; one that runs something leaves it to them. */
export function mayStart(lane: Lane, running: readonly Lane[]): boolean {
  const own = running.filter((one) => one === lane).length;
  if (lane === "messages") return own < MOST;
  if (own === 0) return running.length < PLACES;
  return own < MOST && running.length < PLACES - 1;
}

/** How many jobs of each lane run, and how many wait (100 means 100 or more). */
export async function laneCounts(ctx: QueryCtx): Promise<Record<Lane, { running: number; waiting: number }>> {
  const of = async (lane: Lane) => {
    const waiting = await ctx.db
      .query("work")
      .withIndex("by_turn", (q) => q.eq("lane", lane).eq("state", "waiting"))
      .take(COUNTED);
    return { running: (await runningOf(ctx, lane)).length, waiting: waiting.length };
  };
  return {
    service: await of("service"),
    paid: await of("paid"),
    signedIn: await of("signedIn"),
    anonymous: await of("anonymous"),
    messages: await of("messages"),
  };
}
