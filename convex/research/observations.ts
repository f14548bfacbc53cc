import { v, type Infer } from "convex/values";
import { internal } from "../_generated/api";
import type { Doc, Id } from "../_generated/dataModel";
import {
  internalMutation,
  internalQuery,
  type ActionCtx,
  type MutationCtx,
  type QueryCtx,
} from "../_generated/server";
import type { Payer } from "../lib/budget";
import { lostWork } from "../lib/cronRuns";
import { enter, type Place } from "../lib/lanes";
import { log } from "../lib/log";
import { providerAction } from "../lib/providerCalls";
import { vPayer } from "../lib/tables";
import { MINUTE } from "../lib/time";
import { anyFailed, anyOk, carriedOver, isSettled, withSettled } from "./readings";
import { FAILURE_STANDS_MS } from "./freshness";
import { collectSource } from "./sources";
import { vSettled, vSources, type Sources } from "./shapes";

/** An observation this young serves whoever asks about the same focus. */
const SHARED_FOR_MS = 5 * MINUTE;
/** How long an attempt may take once it has begun: longer than the slowest source with its retries. */
const LEASE_MS = 5 * MINUTE;
/** How long it may wait for a place before that: waiting is not being lost. */
const QUEUE_MS = 60 * MINUTE;
const ATTEMPTS = 2;

const NOTHING: Sources = {
  market: { state: "pending" },
  sentiment: { state: "pending" },
  onchain: { state: "pending" },
  facts: { state: "pending" },
};
const SOURCES = ["facts", "market", "sentiment", "onchain"] as const satisfies readonly (keyof Sources)[];

/** An observation, and the attempt that whoever asked for it is to collect, where nobody does so yet. */
export const vShared = v.object({
  observationId: v.id("observations"),
  collects: v.union(v.number(), v.null()),
});
type Shared = Infer<typeof vShared>;

/**
 * The observation of a focus that serves a shift now: a young one, the one being collected, or a new one, which then waits
 * for its place. A new one takes over the young one's readings: the sources that failed in it are asked again.
 * @param pay Says who pays for a new one; one that is shared costs nothing more.
 */
export async function shareObservation(
  ctx: MutationCtx,
  focus: string,
  place: Omit<Place, "request">,
  pay: () => Promise<Payer>,
): Promise<Id<"observations">> {
  const now = Date.now();
  const latest = await latestOf(ctx, focus);
  if (latest !== null && serves(latest, now, "whole")) return latest._id;
  const lease = { leaseUntil: now + QUEUE_MS, lane: place.lane };
  const observationId = await open(ctx, { focus, latest, now }, { ...lease, payer: await pay() });
  await queue(ctx, { observationId, attempt: 1 }, place);
  return observationId;
}

/** The observation of a focus for work that has its place already and collects by itself what nobody collects. */
export async function claimObservation(ctx: MutationCtx, focus: string, payer: Payer): Promise<Shared> {
  const now = Date.now();
  const latest = await latestOf(ctx, focus);
  if (latest === null || !serves(latest, now, payer === "paid" ? "whole" : "soon")) {
    const lease = { leaseUntil: now + LEASE_MS };
    const observationId = await open(ctx, { focus, latest, now }, { ...lease, payer });
    return { observationId, collects: 1 };
  }
  // One that still waits for a place is taken out of turn; its place then comes to nothing.
  const waits = latest.state === "collecting" && latest.leaseUntil > now + LEASE_MS;
  if (!waits) return { observationId: latest._id, collects: null };
  const attempt = latest.attempt + 1;
  await ctx.db.patch("observations", latest._id, { attempt });
  return { observationId: latest._id, collects: attempt };
}

async function open(
  ctx: MutationCtx,
  { focus, latest, now }: { focus: string; latest: Doc<"observations"> | null; now: number },
  fields: Pick<Doc<"observations">, "leaseUntil" | "payer" | "lane">,
): Promise<Id<"observations">> {
  return ctx.db.insert("observations", {
    focus,
    state: "collecting",
    requestedAt: now,
    attempt: 1,
    sources: latest === null ? NOTHING : carriedOver(latest.sources, now - SHARED_FOR_MS),
    ...fields,
  });
}

async function queue(
  ctx: MutationCtx,
  work: { observationId: Id<"observations">; attempt: number },
  place: Omit<Place, "request">,
): Promise<void> {
  await enter(ctx, { ...place, request: false }, internal.research.observations.collect, {
    ...work,
    owner: place.owner,
  });
}

async function latestOf(ctx: QueryCtx, focus: string): Promise<Doc<"observations"> | null> {
  return ctx.db
    .query("observations")
    .withIndex("by_focus", (q) => q.eq("focus", focus))
    .order("desc")
    .first();
}

function serves(observation: Doc<"observations">, now: number, wanted: "soon" | "whole"): boolean {
  const { state, sources, leaseUntil, requestedAt, collectedAt = requestedAt } = observation;
  if (state === "collecting") return leaseUntil > now;
  const age = now - collectedAt;
  if (!anyFailed(sources)) return age <= SHARED_FOR_MS;
  return wanted === "soon" && anyOk(sources) && age <= FAILURE_STANDS_MS;
}

export const collect = providerAction({
  args: { observationId: v.id("observations"), attempt: v.number(), owner: v.optional(v.string()) },
  returns: v.null(),
  handler: async (ctx, { observationId, attempt, owner }) => {
    await collectNow(ctx, { observationId, collects: attempt }, owner);
    return null;
  },
});

/**
 * Asks the sources that have not answered yet, all at once; each is stored the moment it answers. For actions.
 * @param owner Whose turns at the sources it takes; its payer's, unless said.
 */
export async function collectNow(
  ctx: ActionCtx,
  { observationId, collects: attempt }: Shared,
  owner?: string,
): Promise<void> {
  if (attempt === null) return;
  const begun = { observationId, attempt };
  const work = await ctx.runMutation(internal.research.observations.beginAttempt, begun);
  if (work === null) return;
  const { focus, payer } = work;
  const [payerItself] = typeof payer === "object" ? payer.holders : [];
  const turnOf = owner ?? payerItself;
  const asked = { focus, payer, ...(turnOf === undefined ? {} : { owner: turnOf }) };
  await Promise.all(
    SOURCES.filter((source) => work.sources[source].state === "pending").map(async (source) => {
      const settled = await collectSource(ctx, source, asked);
      if (settled.reading.state === "failed") {
        log.warn("research.source failed", { observationId, source, error: settled.reading.error });
      }
      await ctx.runMutation(internal.research.observations.settle, { observationId, attempt, settled });
    }),
  );
}

/** Begins an attempt's lease; returns what it has to collect, `null` when it was overtaken or all is settled. */
export const beginAttempt = internalMutation({
  args: { observationId: v.id("observations"), attempt: v.number() },
  returns: v.union(v.object({ focus: v.string(), payer: vPayer, sources: vSources }), v.null()),
  handler: async (ctx, { observationId, attempt }) => {
    const row = await ctx.db.get("observations", observationId);
    if (row === null || row.state !== "collecting" || row.attempt !== attempt) return null;
    await ctx.db.patch("observations", observationId, { leaseUntil: Date.now() + LEASE_MS });
    return { focus: row.focus, payer: row.payer ?? "shift", sources: row.sources };
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
  returns: v.object({ current: vSources, earlier: v.array(vSources) }),
  handler: async (ctx, { observationId }) => {
    const row = await ctx.db.get("observations", observationId);
    if (row === null) throw new Error("The observation is gone");
    const earlier = await ctx.db
      .query("observations")
      .withIndex("by_focus", (q) => q.eq("focus", row.focus).lt("requestedAt", row.requestedAt))
      .order("desc")
      .take(5);
    return { current: row.sources, earlier: earlier.map(({ sources }) => sources) };
  },
});

/** Whether all sources of an observation have answered or failed. A cheap look for whoever waits. */
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
 * sources count as failed.
 */
export const resumeLost = lostWork(async (ctx, now) => {
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
    await queue(ctx, work, { lane: row.lane ?? "anonymous", owner: row.focus });
  }
});

async function storeSources(ctx: MutationCtx, id: Id<"observations">, sources: Sources): Promise<void> {
  const done = isSettled(sources) ? { state: "settled" as const, collectedAt: Date.now() } : {};
  await ctx.db.patch("observations", id, { sources, ...done });
}

function closed(sources: Sources, at: number): Sources {
  const failed = { state: "failed" as const, at, error: "The collection was interrupted" };
  return SOURCES.reduce((all, source) => withSettled(all, { source, reading: failed }), sources);
}
