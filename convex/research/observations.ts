import { v } from "convex/values";
import { internal } from "../_generated/api";
import type { Doc, Id } from "../_generated/dataModel";
import { internalMutation, internalQuery, type MutationCtx, type QueryCtx } from "../_generated/server";
import type { Payer } from "../lib/limits/callers";
import { refuseBeyond } from "../lib/limits/budget";
import { change } from "../lib/changes";
import { failureOf } from "../lib/errors";
import { keepNoted, vNoted } from "../lib/outside/tallies";
import { rowsBy } from "../lib/records/rows";
import { NEVER } from "../lib/time";
import { end, failureHandler, open, vFailure, vJob } from "../lib/work/jobs";
import { rankOfShift } from "./model";
import { MODELS, vAnswers, type Answers } from "./tables";
import { GAP_STANDS_MS, nextCollection, SHARED_FOR_MS } from "./timing";

/** Observations: whom one serves, and what came of it. Collecting itself is `research/actions`. */

/**
 * Adds a data point to a shift, and sets the time of the next: a recent observation of its focus, one on its way, or a
 * new one, which waits for its turn and is collected again if its server is lost.
 * @throws AppError `rate_limited` when the day's budget is used up: the starter's part for the first one, twice the whole
 * for the others.
 */
export async function addDataPoint(ctx: MutationCtx, shift: Doc<"shifts">, now: number): Promise<void> {
  const { paidBy = "shift", observationIds, focus } = shift;
  const nextCollectionAt = nextCollection(shift.startedAt, now);
  await ctx.db.patch("shifts", shift._id, { nextCollectionAt });
  if (nextCollectionAt !== NEVER)
    await ctx.scheduler.runAt(nextCollectionAt, internal.research.shifts.check, {});
  const latest = await latestOf(ctx, focus);
  let observationId = latest?._id;
  if (latest === null || (latest.state === "done" && !isFresh(latest))) {
    await refuseBeyond(ctx, observationIds.length === 0 ? paidBy : "shift");
    observationId = await ctx.db.insert("observations", { focus, state: "waiting", at: now, missing: [] });
    // A shift that runs is owed its collections: they count in its starter's part, which does not refuse them.
    const payer: Payer = typeof paidBy === "object" ? { ...paidBy, class: "shift" } : "shift";
    await open(
      ctx,
      internal.research.actions.collect,
      { observationId, focus, payer },
      {
        queue: "models",
        rank: rankOfShift(shift),
        attempts: 2,
        onFailure: failureHandler(internal.research.observations.lost, { observationId }),
      },
    );
  }
  if (observationId === undefined) return;
  await ctx.db.patch("shifts", shift._id, { observationIds: [...observationIds, observationId] });
}

/** `addDataPoint` for a shift that runs. @returns `false`, and it goes on with what it has, once the budget is used up. */
export async function isDataPointAdded(
  ctx: MutationCtx,
  shift: Doc<"shifts">,
  now: number,
): Promise<boolean> {
  try {
    await addDataPoint(ctx, shift, now);
    return true;
  } catch (error) {
    if (failureOf(error)?.code !== "rate_limited") throw error;
    return false;
  }
}

async function latestOf(ctx: QueryCtx, focus: string): Promise<Doc<"observations"> | null> {
  return rowsBy(ctx.db.query("observations"), "focus", focus).order("desc").first();
}

/** Whether an observation still says what is so; one that lacks a source is asked again sooner. */
function isFresh(observation: Doc<"observations">): boolean {
  return Date.now() - observation.at <= (isWhole(observation) ? SHARED_FOR_MS : GAP_STANDS_MS);
}

/** Whether all three models have answered. */
function isWhole({ market, sentiment, onchain }: Answers): boolean {
  return market !== undefined && sentiment !== undefined && onchain !== undefined;
}

/** A fresh observation of a focus; `wholly`: one that lacks no source. `null` if there is none. */
export const fresh = internalQuery({
  args: { focus: v.string(), wholly: v.boolean() },
  returns: v.union(v.id("observations"), v.null()),
  handler: async (ctx, { focus, wholly }) => {
    const latest = await latestOf(ctx, focus);
    const serves = latest?.state === "done" && isFresh(latest) && (isWhole(latest) || !wholly);
    return serves ? latest._id : null;
  },
});

/** Stores what the sources said for a shift. @param job The attempt that collected it; an earlier one's words are dropped. */
export const store = change(
  { observationId: v.id("observations"), job: vJob, answers: vAnswers, noted: vNoted },
  async (ctx, { observationId, job, answers, noted }) => {
    await keepNoted(ctx, noted);
    if (await end(ctx, job)) await finish(ctx, observationId, answers);
  },
);

/** A collection was lost; after its last attempt, the observation says nothing. */
export const lost = change(
  { observationId: v.id("observations"), ...vFailure },
  async (ctx, { observationId, isLast, error: reason }) => {
    const missing = MODELS.map((collector) => ({ collector, subject: "", reason }));
    if (isLast) await finish(ctx, observationId, { missing });
  },
);

async function finish(ctx: MutationCtx, id: Id<"observations">, answers: Answers): Promise<void> {
  if ((await ctx.db.get("observations", id)) === null) return;
  await ctx.db.patch("observations", id, { ...answers, state: "done", at: Date.now() });
  // A report may have waited for it.
  await ctx.scheduler.runAfter(0, internal.research.shifts.check, {});
}

/** Stores what the sources said for a report that somebody waits for. */
export const add = internalMutation({
  args: { focus: v.string(), answers: vAnswers, noted: vNoted },
  returns: v.id("observations"),
  handler: async (ctx, { focus, answers, noted }) => {
    await keepNoted(ctx, noted);
    return ctx.db.insert("observations", { focus, state: "done", at: Date.now(), ...answers });
  },
});
