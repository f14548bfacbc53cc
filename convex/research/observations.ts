import { v } from "convex/values";
import { internal } from "../_generated/api";
import type { Doc, Id } from "../_generated/dataModel";
import { internalMutation, internalQuery, type MutationCtx } from "../_generated/server";
import { researchPool } from "../lib/pools";
import { log } from "../lib/log";
import { providerAction } from "../lib/providerCalls";
import { MINUTE } from "../lib/time";
import { anyOk, isSettled, withSettled } from "./readings";
import { collectSource } from "./sources";
import { vSettled, vSources, type Sources } from "./tables";

/** An observation this young serves whoever asks about the same focus. */
const SHARED_FOR_MS = 5 * MINUTE;
/** One in which every source failed is asked again sooner. */
const FAILED_SHARED_FOR_MS = MINUTE;
/** How long an attempt may take once it has begun: longer than the slowest source with its retries. */
const LEASE_MS = 5 * MINUTE;
/** How long it may wait in the pool before that: waiting is not being lost. */
const QUEUE_MS = 60 * MINUTE;
const ATTEMPTS = 2;

const SOURCES = ["facts", "market", "sentiment", "onchain"] as const satisfies readonly (keyof Sources)[];

/**
 * The observation of a focus that serves now: a young one, the one being collected, or a new one.
 * @param urgent A caller is waiting: collect at once instead of queueing in the pool.
 */
export async function shareObservation(
  ctx: MutationCtx,
  focus: string,
  { urgent }: { urgent: boolean },
): Promise<Id<"observations">> {
  const now = Date.now();
  const latest = await ctx.db
    .query("observations")
    .withIndex("by_focus", (q) => q.eq("focus", focus))
    .order("desc")
    .first();
  if (latest !== null && serves(latest, now)) {
    // One that still waits in the pool is taken out of turn; its place in the queue then comes to nothing.
    if (urgent && latest.state === "collecting" && latest.leaseUntil > now + LEASE_MS) {
      const work = { observationId: latest._id, attempt: latest.attempt + 1 };
      await ctx.db.patch("observations", latest._id, { attempt: work.attempt });
      await ctx.scheduler.runAfter(0, internal.research.observations.collect, work);
    }
    return latest._id;
  }
  const observationId = await ctx.db.insert("observations", {
    focus,
    state: "collecting",
    requestedAt: now,
    leaseUntil: now + QUEUE_MS,
    attempt: 1,
    sources: {
      market: { state: "pending" },
      sentiment: { state: "pending" },
      onchain: { state: "pending" },
      facts: { state: "pending" },
    },
  });
  const work = { observationId, attempt: 1 };
  if (urgent) await ctx.scheduler.runAfter(0, internal.research.observations.collect, work);
  else await researchPool.enqueueAction(ctx, internal.research.observations.collect, work, { retry: false });
  return observationId;
}

function serves(observation: Doc<"observations">, now: number): boolean {
  if (observation.state === "collecting") return observation.leaseUntil > now;
  const age = now - (observation.collectedAt ?? observation.requestedAt);
  return age <= (anyOk(observation.sources) ? SHARED_FOR_MS : FAILED_SHARED_FOR_MS);
}

/** Asks the sources that have not answered yet, all at once; each is stored the moment it answers. */
export const collect = providerAction({
  args: { observationId: v.id("observations"), attempt: v.number() },
  returns: v.null(),
  handler: async (ctx, { observationId, attempt }) => {
    const work = await ctx.runMutation(internal.research.observations.beginAttempt, {
      observationId,
      attempt,
    });
    if (work === null) return null;
    await Promise.all(
      SOURCES.filter((source) => work.sources[source]?.state === "pending").map(async (source) => {
        const settled = await collectSource(ctx, source, work.focus);
        if (settled.reading.state === "failed") {
          log.warn("research.source failed", { observationId, source, error: settled.reading.error });
        }
        await ctx.runMutation(internal.research.observations.settle, { observationId, attempt, settled });
      }),
    );
    return null;
  },
});

/** Begins an attempt's lease; returns what it has to collect, `null` when it was overtaken or all is settled. */
export const beginAttempt = internalMutation({
  args: { observationId: v.id("observations"), attempt: v.number() },
  returns: v.union(v.object({ focus: v.string(), sources: vSources }), v.null()),
  handler: async (ctx, { observationId, attempt }) => {
    const row = await ctx.db.get("observations", observationId);
    if (row === null || row.state !== "collecting" || row.attempt !== attempt) return null;
    await ctx.db.patch("observations", observationId, { leaseUntil: Date.now() + LEASE_MS });
    return { focus: row.focus, sources: row.sources };
  },
});

export const settle = internalMutation({
  args: { observationId: v.id("observations"), attempt: v.number(), settled: vSettled },
  returns: v.null(),
  handler: async (ctx, { observationId, attempt, settled }) => {
    const row = await ctx.db.get("observations", observationId);
    if (row === null || row.state !== "collecting" || row.attempt !== attempt) return null;
    await storeSources(ctx, observationId, withSettled(row.sources, settled));
    return null;
  },
});

/** The sources of an observation as they stand, and for each that has no reading the last one stored before it. */
export const readings = internalQuery({
  args: { observationId: v.id("observations") },
  returns: v.object({ settled: v.boolean(), current: vSources, earlier: v.array(vSources) }),
  handler: async (ctx, { observationId }) => {
    const row = await ctx.db.get("observations", observationId);
    if (row === null) throw new Error("The observation is gone");
    const earlier = await ctx.db
      .query("observations")
      .withIndex("by_focus", (q) => q.eq("focus", row.focus).lt("requestedAt", row.requestedAt))
      .order("desc")
      .take(5);
    return {
      settled: row.state === "settled",
      current: row.sources,
      earlier: earlier.map(({ sources }) => sources),
    };
  },
});

/** Whether all sources of an observation have answered or failed. A cheap look for who waits. */
export const progress = internalQuery({
  args: { observationId: v.id("observations") },
  returns: v.object({ settled: v.boolean(), anyOk: v.boolean() }),
  handler: async (ctx, { observationId }) => {
    const row = await ctx.db.get("observations", observationId);
    if (row === null) return { settled: true, anyOk: false };
    return { settled: row.state === "settled", anyOk: anyOk(row.sources) };
  },
});

/**
 * Resumes collections whose attempt was cut off, and closes those that were cut off once too often: their silent
 * sources count as failed. Called by the collection check.
 */
export async function resumeLostCollections(ctx: MutationCtx): Promise<void> {
  const now = Date.now();
  const lost = await ctx.db
    .query("observations")
    .withIndex("by_state_and_leaseUntil", (q) => q.eq("state", "collecting").lt("leaseUntil", now))
    .take(20);
  for (const row of lost) {
    if (row.attempt >= ATTEMPTS) {
      await storeSources(ctx, row._id, closed(row.sources, now));
      continue;
    }
    const work = { observationId: row._id, attempt: row.attempt + 1 };
    await ctx.db.patch("observations", row._id, { attempt: work.attempt, leaseUntil: now + QUEUE_MS });
    await researchPool.enqueueAction(ctx, internal.research.observations.collect, work, { retry: false });
  }
}

async function storeSources(ctx: MutationCtx, id: Id<"observations">, sources: Sources): Promise<void> {
  const done = isSettled(sources) ? { state: "settled" as const, collectedAt: Date.now() } : {};
  await ctx.db.patch("observations", id, { sources, ...done });
}

function closed(sources: Sources, at: number): Sources {
  const failed = { state: "failed" as const, at, error: "The collection was interrupted" };
  return SOURCES.reduce((all, source) => withSettled(all, { source, reading: failed }), sources);
}
