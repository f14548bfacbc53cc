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
import { vPayer } from "../lib/tables";
import { MINUTE } from "../lib/time";
import { end, failureHandler, open, vFailure, vJob, type Rank } from "../lib/work/jobs";
import { rankOfShift } from "./model";
import { vAnswers, type Answers } from "./tables";
import { GAP_STANDS_MS, nextCollection, SHARED_FOR_MS } from "./timing";

/** Observations: who collects one, and what came of it. Collecting itself is `research/actions`. */

/** Longer than the longest deadline of a source: after this, a collection was lost with its server. */
const LOST_MS = 3 * MINUTE;

/**
 * Whom an observation is for: a `shift`; a caller who waits, and takes what there is `soon`; or a report that is paid
 * for and wants the `whole` of it.
 */
type Purpose = "shift" | "soon" | "whole";

/**
 * The observation of a focus that serves a shift now: a recent one, one on its way, or a new one, which then waits for
 * its turn and is collected again if its server is lost.
 * @param pay Returns who pays for a new one; a shared one costs nothing more.
 */
async function shareObservation(
  ctx: MutationCtx,
  focus: string,
  rank: Rank,
  pay: () => Promise<Payer>,
): Promise<Id<"observations">> {
  const latest = await latestOf(ctx, focus);
  if (latest !== null && serves(latest, "shift")) return latest._id;
  const observationId = await insert(ctx, focus, await pay(), "waiting");
  const onFailure = failureHandler(internal.research.observations.lost, { observationId });
  await open(
    ctx,
    internal.research.actions.collect,
    { observationId },
    { queue: "models", rank, attempts: 2, onFailure },
  );
  return observationId;
}

/**
 * Adds a data point to a shift, and sets the time of the next.
 * @throws AppError `rate_limited` when the day's budget is used up: the starter's part for the first one, twice the whole
 * for the others.
 */
export async function addDataPoint(ctx: MutationCtx, shift: Doc<"shifts">, now: number): Promise<void> {
  const { paidBy = "shift", observationIds } = shift;
  // A shift that runs is owed its collections: they count in its starter's part, which does not refuse them.
  const payer: Payer = typeof paidBy === "object" ? { ...paidBy, class: "shift" } : "shift";
  const observationId = await shareObservation(ctx, shift.focus, rankOfShift(shift), async () => {
    await refuseBeyond(ctx, observationIds.length === 0 ? paidBy : "shift");
    return payer;
  });
  await ctx.db.patch("shifts", shift._id, {
    observationIds: [...observationIds, observationId],
    nextCollectionAt: nextCollection(shift.startedAt, now),
  });
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
    await ctx.db.patch("shifts", shift._id, { nextCollectionAt: nextCollection(shift.startedAt, now) });
    return false;
  }
}

/** The observation of a focus for work that runs already, and whether that work has to collect it. */
export const claim = internalMutation({
  args: { focus: v.string(), payer: vPayer, wanted: v.union(v.literal("soon"), v.literal("whole")) },
  returns: v.object({ observationId: v.id("observations"), isMine: v.boolean() }),
  handler: async (ctx, { focus, payer, wanted }) => {
    const latest = await latestOf(ctx, focus);
    if (latest !== null && serves(latest, wanted)) return { observationId: latest._id, isMine: false };
    return { observationId: await insert(ctx, focus, payer, "collecting"), isMine: true };
  },
});

async function insert(ctx: MutationCtx, focus: string, payer: Payer, state: "waiting" | "collecting") {
  return ctx.db.insert("observations", { focus, payer, state, at: Date.now(), missing: [] });
}

async function latestOf(ctx: QueryCtx, focus: string): Promise<Doc<"observations"> | null> {
  return rowsBy(ctx.db.query("observations"), "focus", focus).order("desc").first();
}

function serves(observation: Doc<"observations">, purpose: Purpose): boolean {
  const age = Date.now() - observation.at;
  // How long one waits for its turn is no caller's to know.
  if (observation.state === "waiting") return purpose === "shift";
  if (observation.state === "collecting") return age < LOST_MS;
  if (isWhole(observation)) return age <= SHARED_FOR_MS;
  return purpose !== "whole" && age <= GAP_STANDS_MS;
}

/** Whether all three models have answered. */
function isWhole({ market, sentiment, onchain }: Answers): boolean {
  return market !== undefined && sentiment !== undefined && onchain !== undefined;
}

/** An observation's turn has come; `null` if it has been given up. */
export const begin = internalMutation({
  args: { observationId: v.id("observations") },
  returns: v.union(v.object({ focus: v.string(), payer: vPayer }), v.null()),
  handler: async (ctx, { observationId }) => {
    const row = await ctx.db.get("observations", observationId);
    if (row === null || row.state === "done") return null;
    await ctx.db.patch("observations", observationId, { state: "collecting", at: Date.now() });
    return { focus: row.focus, payer: row.payer };
  },
});

/** Stores what the sources said. @param job The attempt that collected it; an earlier one's words are dropped. */
export const store = change(
  { observationId: v.id("observations"), job: v.optional(vJob), answers: vAnswers, noted: vNoted },
  async (ctx, { observationId, job, answers, noted }) => {
    await keepNoted(ctx, noted);
    if (job === undefined || (await end(ctx, job))) await finish(ctx, observationId, answers);
  },
);

/** A collection was lost; after its last attempt, the observation says nothing. */
export const lost = change(
  { observationId: v.id("observations"), ...vFailure },
  async (ctx, { observationId, isLast, error: reason }) => {
    const missing = (["market", "sentiment", "onchain"] as const).map((collector) => {
      return { collector, subject: "", reason };
    });
    if (isLast) await finish(ctx, observationId, { missing });
  },
);

async function finish(ctx: MutationCtx, id: Id<"observations">, answers: Answers): Promise<void> {
  const row = await ctx.db.get("observations", id);
  if (row !== null && row.state !== "done")
    await ctx.db.patch("observations", id, { ...answers, state: "done", at: Date.now() });
}

/** A cheap read for those who wait for another's collection. */
export const isDone = internalQuery({
  args: { observationId: v.id("observations") },
  returns: v.boolean(),
  handler: async (ctx, { observationId }) =>
    (await ctx.db.get("observations", observationId))?.state !== "collecting",
});
