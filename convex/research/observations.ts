import { v, type Infer } from "convex/values";
import { internal } from "../_generated/api";
import type { Doc, Id } from "../_generated/dataModel";
import { internalQuery, type MutationCtx, type QueryCtx } from "../_generated/server";
import { change } from "../lib/changes";
import type { Payer } from "../lib/budget/classes";
import { keepNoted, vNoted } from "../lib/outside/tallies";
import { vPayer } from "../lib/tables";
import { MINUTE } from "../lib/time";
import {
  end,
  open,
  openBeside,
  takeWaiting,
  type Rank,
  failureHandler,
  underWay,
  vFailure,
  vJob,
  type Job,
  type Terms,
} from "../lib/work/jobs";
import { rowsBy } from "../lib/records/rows";
import { anyFailed, anyOk, carriedOver, filledIn, isSettled } from "./writing/readings";
import { FAILURE_STANDS_MS } from "./freshness";
import { readingsOf, withSettled } from "./sayings";
import { vReadings, vSettled, vSourcesKept, vSourceStates, type SourcesKept } from "./shapes";

/** How long an observation is shared by requests for the same focus. */
const SHARED_FOR_MS = 5 * MINUTE;
const ATTEMPTS = 2;

const NOTHING: SourcesKept = {
  market: { state: "pending" },
  sentiment: { state: "pending" },
  onchain: { state: "pending" },
  facts: { state: "pending" },
};
/** All are asked at the same time. */
export const SOURCES = [
  "facts",
  "market",
  "sentiment",
  "onchain",
] as const satisfies readonly (keyof SourcesKept)[];

/** An observation, and the job to collect it, if the caller has to. */
export const vShared = v.object({
  observationId: v.id("observations"),
  collects: v.union(vJob, v.null()),
});
type Shared = Infer<typeof vShared>;

/**
 * The observation of a focus that serves a shift now: a recent one, the one being collected, or a new one, which then
 * waits for its place. A new one takes over the readings of the recent one; only failed sources are asked again.
 * @param pay Returns who pays for a new one; a shared one costs nothing more.
 */
export async function shareObservation(
  ctx: MutationCtx,
  focus: string,
  rank: Rank,
  pay: () => Promise<Payer>,
): Promise<Id<"observations">> {
  const latest = await latestOf(ctx, focus);
  if (latest !== null && serves(latest, Date.now(), "whole")) return latest._id;
  const observationId = await begin(ctx, focus, latest, await pay());
  const terms = { ...termsOf(observationId), queue: "models" as const, rank };
  await open(ctx, internal.research.desk.collect, { observationId }, terms);
  return observationId;
}

/**
 * The observation of a focus for work that already has a place and collects it itself if nobody else does.
 * @param by That work's attempt.
 */
export async function claimObservation(
  ctx: MutationCtx,
  by: Job,
  focus: string,
  payer: Payer,
): Promise<Shared> {
  const latest = await latestOf(ctx, focus);
  if (latest !== null && serves(latest, Date.now(), payer === "paid" ? "whole" : "soon")) {
    const observationId = latest._id;
    return { observationId, collects: await takeWaiting(ctx, by, observationId) };
  }
  const observationId = await begin(ctx, focus, latest, payer);
  const collect = internal.research.desk.collect;
  return {
    observationId,
    collects: await openBeside(ctx, by, collect, { observationId }, termsOf(observationId)),
  };
}

async function begin(
  ctx: MutationCtx,
  focus: string,
  latest: Doc<"observations"> | null,
  payer: Payer,
): Promise<Id<"observations">> {
  const now = Date.now();
  return ctx.db.insert("observations", {
    focus,
    state: "collecting",
    requestedAt: now,
    sources: latest === null ? NOTHING : carriedOver(latest.sources, now - SHARED_FOR_MS),
    payer,
  });
}

function termsOf(observationId: Id<"observations">): Terms {
  const onFailure = failureHandler(internal.research.observations.failed, { observationId });
  return { subject: observationId, attempts: ATTEMPTS, onFailure };
}

async function latestOf(ctx: QueryCtx, focus: string): Promise<Doc<"observations"> | null> {
  return rowsBy(ctx.db.query("observations"), "focus", focus).order("desc").first();
}

function serves(observation: Doc<"observations">, now: number, wanted: "soon" | "whole"): boolean {
  const { state, sources, requestedAt, collectedAt = requestedAt } = observation;
  if (state === "collecting") return true;
  const age = now - collectedAt;
  if (!anyFailed(sources)) return age <= SHARED_FOR_MS;
  return wanted === "soon" && anyOk(sources) && age <= FAILURE_STANDS_MS;
}

/** The sources that an attempt has to collect; `null` if it was overtaken or all have settled. */
export const task = internalQuery({
  args: { observationId: v.id("observations"), job: vJob },
  returns: v.union(v.object({ focus: v.string(), payer: vPayer, sources: vSourcesKept }), v.null()),
  handler: async (ctx, { observationId, job }) => {
    const row = await ctx.db.get("observations", observationId);
    if (row?.state !== "collecting" || (await underWay(ctx, job)) === null) return null;
    return { focus: row.focus, payer: row.payer ?? "shift", sources: row.sources };
  },
});

/** Stores the sources' answers; the last one ends the collection. */
export const settle = change(
  { observationId: v.id("observations"), job: vJob, settled: v.array(vSettled), noted: vNoted },
  async (ctx, { observationId, job, settled, noted }) => {
    await keepNoted(ctx, noted);
    const row = await ctx.db.get("observations", observationId);
    if (row?.state !== "collecting" || (await underWay(ctx, job)) === null) return;
    let { sources } = row;
    for (const one of settled) sources = await withSettled(ctx, sources, one);
    if (await storeSources(ctx, observationId, sources)) await end(ctx, job);
  },
);

/** A collection was lost. After the last attempt, its silent sources count as failed. */
export const failed = change(
  { observationId: v.id("observations"), ...vFailure },
  async (ctx, { observationId, isLast }) => {
    const row = await ctx.db.get("observations", observationId);
    if (row?.state === "collecting" && isLast)
      await storeSources(ctx, observationId, closed(row.sources, Date.now()));
  },
);

/**
 * What an observation says so far; for a source without an answer, its last one since `since` (epoch ms). `error`: why one
 * of the models has no answer.
 */
export const readings = internalQuery({
  args: { observationId: v.id("observations"), since: v.number() },
  returns: v.object({ readings: vReadings, states: vSourceStates, error: v.union(v.string(), v.null()) }),
  handler: async (ctx, { observationId, since }) => {
    const row = await ctx.db.get("observations", observationId);
    if (row === null) throw new Error("The observation is gone");
    const earlier = await ctx.db
      .query("observations")
      .withIndex("by_focus", (q) => q.eq("focus", row.focus).lt("requestedAt", row.requestedAt))
      .order("desc")
      .take(5);
    const before = earlier.map(({ sources }) => sources);
    const { sources, states } = filledIn(row.sources, before, since);
    const failed = [sources.market, sources.sentiment, sources.onchain].flatMap((one) =>
      one.state === "failed" ? [one.error] : [],
    );
    return { readings: await readingsOf(ctx, [sources]), states, error: failed[0] ?? null };
  },
});

/** Whether all sources of an observation have answered or failed. A cheap read for waiting callers. */
export const progress = internalQuery({
  args: { observationId: v.id("observations") },
  returns: v.object({ settled: v.boolean(), anyOk: v.boolean() }),
  handler: async (ctx, { observationId }) => {
    const row = await ctx.db.get("observations", observationId);
    if (row === null) return { settled: true, anyOk: false };
    return { settled: row.state === "settled", anyOk: anyOk(row.sources) };
  },
});

/** @returns Whether all of them have settled. */
async function storeSources(
  ctx: MutationCtx,
  id: Id<"observations">,
  sources: SourcesKept,
): Promise<boolean> {
  const settled = isSettled(sources);
  const done = settled ? { state: "settled" as const, collectedAt: Date.now() } : {};
  await ctx.db.patch("observations", id, { sources, ...done });
  return settled;
}

function closed(sources: SourcesKept, at: number): SourcesKept {
  const failed = { state: "failed" as const, at, error: "The collection was interrupted" };
  const or = <Reading extends { state: string }>(reading: Reading) =>
    reading.state === "pending" ? failed : reading;
  const { market, sentiment, onchain, facts } = sources;
  return { market: or(market), sentiment: or(sentiment), onchain: or(onchain), facts: or(facts) };
}
