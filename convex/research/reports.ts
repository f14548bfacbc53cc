import { createFunctionHandle } from "convex/server";
import { v } from "convex/values";
import { internal } from "../_generated/api";
import type { Doc, Id } from "../_generated/dataModel";
import { internalQuery, type MutationCtx, type QueryCtx } from "../_generated/server";
import { change } from "../lib/changes";
import { keepNoted, vNoted } from "../lib/outside/tallies";
import { rowsByBoth } from "../lib/records/rows";
import { withoutCitations } from "../lib/text/strings";
import { iso, MINUTE, NEVER } from "../lib/time";
import { cancel, end, failureHandler, open, vFailure, vJob } from "../lib/work/jobs";
import { enqueueCard } from "../messenger/model";
import { tellOwner } from "../messenger/webhooks/events";
import { recordRun } from "../runs/model";
import { reportCard } from "./cards";
import { latestReportOn, rankOfShift, shiftTopic, shownReport, vReport } from "./model";
import { isDataPointAdded } from "./observations";
import { vResult, type ReportKind, type Result } from "./tables";
import { dueReport, nextReport } from "./timing";

/** Reports of shifts, from the moment one is due to its delivery. */

/** Retries after 1, 4 and 9 minutes; then the shift goes on without this report. */
const ATTEMPTS = 4;
/** How old the collection of a report may be; otherwise the report waits for a new one. */
const REPORTABLE_MS = 10 * MINUTE;
/** A report does not wait longer for a collection: it says what is missing. */
const WAITED_MS = 6 * MINUTE;
/** The agent under whose name reports are written. */
const AGENT_ID = "research-default";

/** Has the report written that a shift owes, from a collection that is not older than ten minutes. */
export async function openDueReport(ctx: MutationCtx, shift: Doc<"shifts">, now: number): Promise<void> {
  const kind = dueReport(shift.nextReport, shift.startedAt, now);
  if (kind === null || (await beingWritten(ctx, shift._id)) !== null) return;
  // The end of the collection that it waits for is followed by another check.
  if (await isReportable(ctx, shift, now)) await openReport(ctx, shift, kind, now);
}

async function beingWritten(ctx: QueryCtx, shiftId: Id<"shifts">): Promise<Doc<"reports"> | null> {
  return rowsByBoth(ctx.db.query("reports"), "jobId", shiftId, "state", "writing").first();
}

/** Whether a shift's latest collection can be reported on; if it is too old, a new one is begun. */
async function isReportable(ctx: MutationCtx, shift: Doc<"shifts">, now: number): Promise<boolean> {
  const last = shift.observationIds.at(-1);
  const latest = last === undefined ? null : await ctx.db.get("observations", last);
  const age = latest === null ? Number.POSITIVE_INFINITY : now - latest.at;
  if (age > REPORTABLE_MS) return !(await isDataPointAdded(ctx, shift, now));
  return latest?.state === "done" || age > WAITED_MS;
}

async function openReport(
  ctx: MutationCtx,
  shift: Doc<"shifts">,
  kind: ReportKind,
  now: number,
): Promise<void> {
  const { _id: jobId, userId, focus, startedAt, observationIds } = shift;
  const reportId = await ctx.db.insert("reports", {
    jobId,
    userId,
    kind,
    state: "writing",
    generatedAt: now,
    jobToken: focus,
    jobStartedAt: startedAt,
    messengerSent: false,
  });
  await ctx.db.patch("shifts", shift._id, { nextReport: kind });
  await open(
    ctx,
    internal.research.actions.writeReport,
    { reportId, kind, focus, startedAt, observationIds },
    {
      queue: "models",
      rank: rankOfShift(shift),
      subject: reportId,
      attempts: ATTEMPTS,
      onFailure: failureHandler(internal.research.reports.failed, { reportId }),
    },
  );
}

/** Drops the report that is being written for a shift, if any. */
export async function dropReport(ctx: MutationCtx, shiftId: Id<"shifts">): Promise<void> {
  const row = await beingWritten(ctx, shiftId);
  if (row === null) return;
  await cancel(ctx, row._id);
  await ctx.db.delete("reports", row._id);
}

/** Stores a report, has its card sent, and moves its shift on. */
export const store = change(
  {
    reportId: v.id("reports"),
    job: vJob,
    result: vResult,
    model: v.string(),
    tokensUsed: v.number(),
    noted: vNoted,
  },
  async (ctx, { reportId, job, result, model, tokensUsed, noted }) => {
    await keepNoted(ctx, noted);
    if (!(await end(ctx, job))) return;
    const row = await ctx.db.get("reports", reportId);
    const shift = row?.state === "writing" ? await ctx.db.get("shifts", row.jobId) : null;
    if (row === null || shift === null) return;
    const now = Date.now();
    const runId = await recordRun(ctx, {
      userId: row.userId,
      agentId: AGENT_ID,
      title: `${row.kind === "final" ? "Final" : "Interim"} report on ${shift.token ?? "the whole market"}`,
      status: "completed",
      model,
      tokensUsed,
      startedAt: row.generatedAt,
      finishedAt: now,
    });
    await ctx.db.patch("reports", reportId, { state: "done", generatedAt: now, result, runId });
    await tell(ctx, shift, { ...row, generatedAt: now }, result);
    await advance(ctx, shift, row.kind, "reported");
  },
);

async function tell(
  ctx: MutationCtx,
  shift: Doc<"shifts">,
  { _id: reportId, kind, generatedAt }: Doc<"reports">,
  result: Result,
): Promise<void> {
  const type = kind === "final" ? "final" : "interim";
  await tellOwner(ctx, shift.userId, "report.ready", {
    reportId,
    jobId: shift._id,
    type,
    token: shift.focus,
    generatedAt: iso(generatedAt),
    outlook: result.marketOutlook,
    summary: withoutCitations(result.shortSummary),
    path: `/mcp/research/report?jobId=${shift._id}`,
  });
  const handle: string = await createFunctionHandle(internal.research.reports.delivered);
  const { token = null, startedAt } = shift;
  await enqueueCard(ctx, {
    userId: shift.userId,
    bot: shift.bot,
    chatId: shift.messengerChatId,
    kind: `${type} report`,
    topic: shiftTopic(shift._id),
    paragraphs: reportCard({ kind, token, startedAt, generatedAt, result }),
    onSettled: { handle, subject: reportId },
  });
}

/** Stores why an attempt failed; after the last one, the shift goes on without this report. */
export const failed = change(
  { reportId: v.id("reports"), ...vFailure },
  async (ctx, { reportId, error, isLast }) => {
    const row = await ctx.db.get("reports", reportId);
    const shift = row?.state === "writing" ? await ctx.db.get("shifts", row.jobId) : null;
    if (!isLast || row === null || shift === null) return;
    await ctx.db.patch("reports", reportId, { state: "failed", generatedAt: Date.now() });
    await advance(ctx, shift, row.kind, { error });
  },
);

/** Moves a shift past a report, whether it was written or given up. */
async function advance(
  ctx: MutationCtx,
  shift: Doc<"shifts">,
  kind: ReportKind,
  outcome: "reported" | { error: string },
): Promise<void> {
  const isReported = outcome === "reported";
  const trouble = isReported ? {} : { error: outcome.error };
  const next = nextReport(kind);
  if (next === null) {
    await ctx.db.patch("shifts", shift._id, {
      status: "completed",
      endedAt: Date.now(),
      finalReportSent: isReported,
      nextCollectionAt: NEVER,
      ...trouble,
    });
  } else {
    await ctx.db.patch("shifts", shift._id, {
      nextReport: next,
      interimReportsCount: shift.interimReportsCount + (isReported ? 1 : 0),
      ...trouble,
    });
  }
}

/** The outbox's result for a report's card. */
export const delivered = change(
  { subject: v.string(), sent: v.boolean(), error: v.optional(v.string()) },
  async (ctx, { subject, sent, error }) => {
    const reportId = ctx.db.normalizeId("reports", subject);
    if (reportId === null || (await ctx.db.get("reports", reportId)) === null) return;
    await ctx.db.patch("reports", reportId, { messengerSent: sent, messengerError: error });
  },
);

/** The latest report of a shift, or on a token, from any user's shift; of both, the shift's on that token. */
export const latest = internalQuery({
  args: { token: v.optional(v.string()), jobId: v.optional(v.string()) },
  returns: v.union(vReport, v.null()),
  handler: async (ctx, { token, jobId }) => {
    if (jobId === undefined) {
      const row = await latestReportOn(ctx, token ?? "");
      return row === null ? null : shownReport(row);
    }
    const shiftId = ctx.db.normalizeId("shifts", jobId);
    if (shiftId === null) return null;
    const reports = rowsByBoth(ctx.db.query("reports"), "jobId", shiftId, "state", "done");
    const row = await reports.order("desc").first();
    return row === null || (token !== undefined && row.jobToken !== token) ? null : shownReport(row);
  },
});
