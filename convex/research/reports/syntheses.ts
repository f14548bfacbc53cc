import { getOneFrom } from "convex-helpers/server/relationships";
import { v } from "convex/values";
import { internal } from "../../_generated/api";
import type { Doc, Id } from "../../_generated/dataModel";
import { internalQuery, type MutationCtx, type QueryCtx } from "../../_generated/server";
import { change } from "../../lib/changes";
import { cron } from "../../lib/cronRuns";
import { keepNoted, vNoted } from "../../lib/outside/tallies";
import { MINUTE, SECOND } from "../../lib/time";
import { end, open, failureHandler, vFailure, vJob } from "../../lib/work/jobs";
import { rowsBy } from "../../lib/records/rows";
import { dueReport } from "./checkpoints";
import { isReportable } from "./dataPoints";
import { rankOfShift } from "../model";
import { readingsOf } from "../sayings";
import { vReadings, vReportKind, vResult, type ReportKind } from "../shapes";

/** Due shifts per transaction; a full batch is followed by another. */
const BATCH = 100;
/** Retries after 1, 4 and 9 minutes; then the shifts continue without this report. */
const ATTEMPTS = 4;
/** When to check a shift again whose latest collection is still running. */
const LOOK_MS = 20 * SECOND;
/** When to check a shift again whose report is being written. */
const RECHECK_MS = 5 * MINUTE;
/** More than the 17 data points of a shift and those of its late reports. */
const MAX_DATA_POINTS = 20;

/**
 * The report check: every shift that owes a report gets the synthesis of its evidence, shared by shifts with equal
 * evidence, once its latest collection has arrived: no report is written from half-hour-old data.
 */
export const claimDue = cron("write due research reports", async (ctx) => {
  const now = Date.now();
  const due = await ctx.db
    .query("shifts")
    .withIndex("by_status_and_nextReportAt", (q) => q.eq("status", "active").lte("nextReportAt", now))
    .take(BATCH);
  const seen = new Map<string, Id<"syntheses">>();
  let isWaiting = false;
  for (const found of due) {
    const kind = dueReport(found.nextReport, found.startedAt, now);
    if (found.synthesisId === undefined && !(await isReportable(ctx, found, now))) {
      await ctx.db.patch("shifts", found._id, { nextReportAt: now + LOOK_MS });
      isWaiting = true;
      continue;
    }
    const shift = (await ctx.db.get("shifts", found._id)) ?? found;
    const key = await keyOf(ctx, shift, kind);
    const synthesisId = seen.get(key) ?? (await ensureSynthesis(ctx, key, kind, shift, now));
    seen.set(key, synthesisId);
    await ctx.db.patch("shifts", shift._id, {
      nextReport: kind,
      synthesisId,
      nextReportAt: now + RECHECK_MS,
    });
  }
  if (due.length === BATCH) await ctx.scheduler.runAfter(0, internal.research.reports.syntheses.claimDue, {});
  if (isWaiting) await ctx.scheduler.runAfter(LOOK_MS, internal.research.reports.syntheses.claimDue, {});
});

/** The key of a shift's synthesis; a shift that already waits for one keeps it. */
async function keyOf(ctx: MutationCtx, shift: Doc<"shifts">, kind: ReportKind): Promise<string> {
  if (shift.synthesisId !== undefined && shift.nextReport === kind) {
    const waitingFor = await ctx.db.get("syntheses", shift.synthesisId);
    if (waitingFor !== null) return waitingFor.key;
  }
  return `${kind}:${shift.focus}:${shift.evidence}`;
}

async function ensureSynthesis(
  ctx: MutationCtx,
  key: string,
  kind: ReportKind,
  shift: Doc<"shifts">,
  now: number,
): Promise<Id<"syntheses">> {
  const row = await getOneFrom(ctx.db, "syntheses", "by_key", key);
  if (row === null) {
    const synthesisId = await ctx.db.insert("syntheses", {
      key,
      kind,
      focus: shift.focus,
      shiftId: shift._id,
      state: "writing",
      startedAt: now,
    });
    const onFailure = failureHandler(internal.research.reports.syntheses.failed, { synthesisId });
    await open(
      ctx,
      internal.research.desk.writeReport,
      { synthesisId },
      { queue: "models", rank: rankOfShift(shift), attempts: ATTEMPTS, onFailure },
    );
    return synthesisId;
  }
  if (row.state !== "writing") {
    await ctx.scheduler.runAfter(0, internal.research.reports.publications.publish, { synthesisId: row._id });
  }
  return row._id;
}

/** The material of a report; `null` if it has been written. */
export const task = internalQuery({
  args: { synthesisId: v.id("syntheses") },
  returns: v.union(
    v.object({
      kind: vReportKind,
      focus: v.string(),
      startedAt: v.union(v.number(), v.null()),
      readings: vReadings,
    }),
    v.null(),
  ),
  handler: async (ctx, { synthesisId }) => {
    const row = await writing(ctx, synthesisId);
    if (row === null) return null;
    const points = await rowsBy(ctx.db.query("dataPoints"), "shiftId", row.shiftId).take(MAX_DATA_POINTS);
    const observations = await Promise.all(
      points.map(({ observationId }) => ctx.db.get("observations", observationId)),
    );
    return {
      kind: row.kind,
      focus: row.focus,
      startedAt: (await ctx.db.get("shifts", row.shiftId))?.startedAt ?? null,
      readings: await readingsOf(
        ctx,
        observations.flatMap((observation) => (observation === null ? [] : [observation.sources])),
      ),
    };
  },
});

export const store = change(
  {
    synthesisId: v.id("syntheses"),
    job: vJob,
    result: vResult,
    model: v.string(),
    tokensUsed: v.number(),
    noted: vNoted,
  },
  async (ctx, { synthesisId, job, noted, ...written }) => {
    await keepNoted(ctx, noted);
    if (!(await end(ctx, job))) return;
    await ctx.db.patch("syntheses", synthesisId, { state: "done", ...written, error: undefined });
    await ctx.scheduler.runAfter(0, internal.research.reports.publications.publish, { synthesisId });
  },
);

/** Stores a failed attempt; the last one ends the synthesis. */
export const failed = change(
  { synthesisId: v.id("syntheses"), ...vFailure },
  async (ctx, { synthesisId, error, isLast }) => {
    if ((await writing(ctx, synthesisId)) === null) return;
    await ctx.db.patch("syntheses", synthesisId, { error, ...(isLast ? { state: "failed" } : {}) });
    if (isLast)
      await ctx.scheduler.runAfter(0, internal.research.reports.publications.publish, { synthesisId });
  },
);

async function writing(ctx: QueryCtx, synthesisId: Id<"syntheses">): Promise<Doc<"syntheses"> | null> {
  const row = await ctx.db.get("syntheses", synthesisId);
  return row?.state === "writing" ? row : null;
}
