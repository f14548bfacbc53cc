import { v } from "convex/values";
import { internal } from "../_generated/api";
import type { Doc, Id } from "../_generated/dataModel";
import { internalMutation, internalQuery, type MutationCtx } from "../_generated/server";
import { refuseBeyond } from "../platform/limits/budget";
import { defineMutation } from "../platform/changes";
import { getErrorData } from "../lib/errors";
import { flushUsage, vProviderUsage } from "../platform/outside/calls";
import { queryBy } from "../platform/records";
import { listKeys } from "../lib/objects";
import { markOutdated } from "../platform/answers";
import { deadlines } from "../platform/outside/deadlines";
import { MINUTE } from "../lib/time";
import { completeWork, buildFailureHandler, enqueueWork, vFailure, vJob } from "../platform/work";
import { isSettled, toResearchKey, LATE_SOURCE, SERVES_MS, SHARED_FOR_MS, STANDS_IN_MS } from "./model";
import { MODELS, vAnswers, vModel, vSentimentOutput, type Answers, type Model } from "./tables";

/** Observations: which shifts and reports share one, and its result. `research/actions` collects them. */
const INTERVAL_MS = 30 * MINUTE;

/**
 * Adds a data point to a shift. The next one is due a whole interval later, however late this one is.
 * @param shared The observations of this check by focus: the shifts that are due together read it once.
 * @returns `false` if the day's budget is used up twice; then the shift goes on without the data point.
 */
export async function addDataPoint(
  ctx: MutationCtx,
  shift: Doc<"shifts">,
  now: number,
  shared = new Map<string, Id<"observations">>(),
): Promise<boolean> {
  const nextCollectionAt = now + INTERVAL_MS;
  // Shifts that are due at the same moment share a check.
  const other = await ctx.db
    .query("shifts")
    .withIndex("by_status_and_nextCollectionAt", (q) =>
      q.eq("status", "active").eq("nextCollectionAt", nextCollectionAt),
    )
    .first();
  if (other === null)
    await ctx.scheduler.runAt(nextCollectionAt, internal.research.shifts.checkShiftsNow, {});
  const observationId = shared.get(shift.token) ?? (await findOrOpenObservation(ctx, shift, now));
  if (observationId === null) {
    await ctx.db.patch("shifts", shift._id, { nextCollectionAt });
    return false;
  }
  shared.set(shift.token, observationId);
  const observationIds = [...shift.observationIds, observationId];
  await ctx.db.patch("shifts", shift._id, { nextCollectionAt, observationIds });
  return true;
}

/**
 * A recent observation of a shift's focus, a pending one, or a new one, which waits for its turn and is collected again if
 * its server is lost; `null` if the day's budget is used up twice.
 */
async function findOrOpenObservation(
  ctx: MutationCtx,
  { token: focus, paidBy }: Doc<"shifts">,
  now: number,
): Promise<Id<"observations"> | null> {
  const latest = await queryBy(ctx.db.query("observations"), "focus", focus).order("desc").first();
  if (latest !== null && (latest.state === "waiting" || isRecent(latest, now))) return latest._id;
  try {
    await refuseBeyond(ctx, "service");
  } catch (error) {
    if (getErrorData(error)?.code !== "rate_limited") throw error;
    return null;
  }
  const row = { focus, state: "waiting" as const, at: now, missing: [] };
  const observationId = await ctx.db.insert("observations", row);
  await enqueueWork(
    ctx,
    internal.research.actions.collect,
    // A running shift is owed its collections: they count in its starter's part of the budget, which does not refuse
    // them.
    { observationId, focus, billTo: { ...paidBy, class: "shift" } },
    {
      queue: "models",
      rank: paidBy.class,
      attempts: 2,
      onFailure: buildFailureHandler(internal.research.observations.storeLost, { observationId }),
    },
  );
  return observationId;
}

/** Whether a shift may share it: an observation on demand may lack the gateway's list. */
const isRecent = ({ at, market }: Doc<"observations">, now: number): boolean =>
  now - at <= SHARED_FOR_MS && (market === undefined || market.marketDataRaw !== undefined);

/** More observations of a focus than are made while one of its answers is reusable. */
const MOST_SERVING = 16;

/**
 * The observations of a focus that serve a report now, oldest first: for each model the newest one with its answer. And the
 * models to ask: those without such an answer, except a late one that may still answer, and one that was paid for in vain.
 * Older sentiment stands in for the one that is asked.
 */
export const findServingObservations = internalQuery({
  args: { focus: v.string(), at: v.number() },
  returns: v.object({
    observationIds: v.array(v.id("observations")),
    unanswered: v.array(vModel),
    standsIn: v.boolean(),
  }),
  handler: async (ctx, { focus, at }) => {
    const rows = await queryBy(ctx.db.query("observations"), "focus", focus).order("desc").take(MOST_SERVING);
    const findWithin = (model: Model, ms: number) =>
      rows.find((row) => row[model] !== undefined && at - row.at <= ms);
    const isAwaited = (row: Doc<"observations">, model: Model) =>
      row.missing.some(
        ({ collector, reason }) =>
          collector === model &&
          isSettled(reason) &&
          at - row.at <= (reason === LATE_SOURCE ? deadlines.sentiment : SERVES_MS[model]),
      );
    const models = listKeys(MODELS);
    const older = findWithin("sentiment", STANDS_IN_MS);
    // The reason for an answer that is not asked stands in the row without it.
    const found = [
      ...models.map(
        (model) => findWithin(model, SERVES_MS[model]) ?? rows.find((row) => isAwaited(row, model)),
      ),
      older,
    ];
    return {
      observationIds: rows
        .filter((row) => found.includes(row))
        .map(({ _id }) => _id)
        .reverse(),
      unanswered: models.filter(
        (model) =>
          findWithin(model, SERVES_MS[model]) === undefined && !rows.some((row) => isAwaited(row, model)),
      ),
      standsIn: older !== undefined,
    };
  },
});

/**
 * Stores the answers of a shift's observation.
 * @param job The attempt that collected them; answers of an earlier one are dropped.
 */
export const storeObservation = defineMutation(
  { observationId: v.id("observations"), job: vJob, answers: vAnswers, usage: vProviderUsage },
  async (ctx, { observationId, job, answers, usage }) => {
    await flushUsage(ctx, usage);
    if (await completeWork(ctx, job)) await finish(ctx, observationId, answers);
  },
);

/** Handles a lost collection. After the last attempt the observation is done, without answers. */
export const storeLost = defineMutation(
  { observationId: v.id("observations"), ...vFailure },
  async (ctx, { observationId, isLast, error: reason }) => {
    const missing = listKeys(MODELS).map((collector) => ({ collector, subject: "", reason }));
    if (isLast) await finish(ctx, observationId, { missing });
  },
);

async function finish(ctx: MutationCtx, id: Id<"observations">, answers: Answers): Promise<void> {
  if ((await ctx.db.get("observations", id)) === null) return;
  await ctx.db.patch("observations", id, { ...answers, state: "done", at: Date.now() });
  // A report may be waiting for it.
  await ctx.scheduler.runAfter(0, internal.research.shifts.checkShiftsNow, {});
}

/**
 * Adds a model's answer that came after its report was written, for the next report.
 * @param outdates Whether the report had none, so that it is written again for whoever asks next.
 */
export const storeLateAnswer = defineMutation(
  {
    observationId: v.id("observations"),
    sentiment: vSentimentOutput,
    outdates: v.boolean(),
    usage: vProviderUsage,
  },
  async (ctx, { observationId, sentiment, outdates, usage }) => {
    await flushUsage(ctx, usage);
    const row = await ctx.db.get("observations", observationId);
    if (row === null) return;
    const missing = row.missing.filter(({ collector }) => collector !== "sentiment");
    await ctx.db.patch("observations", observationId, { sentiment, missing });
    if (outdates) await markOutdated(ctx, toResearchKey(row.focus));
  },
);

/** Stores the answers for an on-demand report. */
export const storeOnDemandObservation = internalMutation({
  args: { focus: v.string(), answers: vAnswers, usage: vProviderUsage },
  returns: v.id("observations"),
  handler: async (ctx, { focus, answers, usage }) => {
    await flushUsage(ctx, usage);
    return ctx.db.insert("observations", { focus, state: "done", at: Date.now(), ...answers });
  },
});
