import { createFunctionHandle } from "convex/server";
import { v } from "convex/values";
import { internal } from "../_generated/api";
import type { Doc, Id } from "../_generated/dataModel";
import { internalMutation, internalQuery, type MutationCtx } from "../_generated/server";
import { beginRefresh } from "../platform/cache";
import { defineMutation } from "../platform/changes";
import { vCaller } from "../platform/limits/callers";
import { flushUsage, vProviderUsage } from "../platform/outside/calls";
import { queryBy, queryByBoth } from "../platform/records";
import { removeCitations } from "../lib/text/strings";
import { HOUR, toIso, MINUTE } from "../lib/time";
import { cancel, completeWork, buildFailureHandler, enqueueWork, vFailure, vJob } from "../platform/work";
import { enqueueCard } from "../messenger/model";
import { emitToOwner } from "../messenger/webhooks/events";
import { recordRun } from "../runs/model";
import { buildReportCard } from "./cards";
import {
  getDueReport,
  getFocusName,
  toResearchKey,
  getNextReportDueAt,
  REPORTS,
  listReports,
  getShiftTopic,
  toPublicReport,
  getReportType,
  vReport,
} from "./model";
import { addDataPoint } from "./observations";
import { vResearchResult, type ResearchResult } from "./tables";

/** Reports of shifts, from the moment one is due to its delivery; and on-demand results, which `platform/cache` stores. */

/**
 * Starts research on a focus, or joins the running one.
 * @throws AppError `rate_limited`, also if too many requests wait or the day's budget is used up.
 */
export const startResearch = internalMutation({
  args: { focus: v.string(), caller: vCaller },
  returns: v.string(),
  handler: async (ctx, { caller, focus }): Promise<string> =>
    beginRefresh(
      ctx,
      { key: toResearchKey(focus), caller, queue: "models" },
      internal.research.actions.writeOnDemandResult,
      {
        focus,
      },
    ),
});

/** Retries after 1, 4 and 9 minutes; then the shift goes on without this report. */
const ATTEMPTS = 4;
/** The greatest age of a report's collection; an older one is replaced before the report. */
const REPORTABLE_MS = 10 * MINUTE;
/** The longest wait for a collection; then the report names what is missing. */
const WAITED_MS = 6 * MINUTE;
/** So many of its latest data points, those of two hours, a report describes. */
const DESCRIBED = 4;
/** The name of the agent that writes the reports. */
const AGENT_ID = "research-default";

/** Enqueues the due report of a shift, once it has a collection of the last ten minutes. */
export async function openDueReport(ctx: MutationCtx, shift: Doc<"shifts">, now: number): Promise<void> {
  const { _id: jobId, userId, token: focus, startedAt, observationIds, nextReportAt = Infinity } = shift;
  const kind = getDueReport(startedAt, nextReportAt, now);
  if (kind === null) return;
  // The end of the pending collection triggers another check.
  if (!(await isReportable(ctx, shift, now))) return;
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
  await ctx.db.patch("shifts", jobId, { nextReportAt: undefined });
  const { title, dueAfterMs } = REPORTS[kind];
  const occasion = `${title}, ${dueAfterMs / HOUR} hours into an 8-hour research shift`;
  await enqueueWork(
    ctx,
    internal.research.actions.writeReport,
    { reportId, occasion, focus, startedAt, observationIds: chooseDataPoints(observationIds) },
    {
      queue: "models",
      rank: shift.paidBy.class,
      subject: reportId,
      attempts: ATTEMPTS,
      onFailure: buildFailureHandler(internal.research.reports.storeReportFailure, { reportId }),
    },
  );
}

/** The data points that a report reads, oldest first: the latest, and of those before, for what persists, one an hour. */
function chooseDataPoints(ids: readonly Id<"observations">[]): Id<"observations">[] {
  const before = ids.length - DESCRIBED;
  return ids.filter((_, index) => index >= before || (before - index) % 2 === 0);
}

/** Whether a shift's latest collection is recent enough for a report; if it is too old, a new one is started. */
async function isReportable(ctx: MutationCtx, shift: Doc<"shifts">, now: number): Promise<boolean> {
  const last = shift.observationIds.at(-1);
  const latest = last === undefined ? null : await ctx.db.get("observations", last);
  const age = latest === null ? Number.POSITIVE_INFINITY : now - latest.at;
  if (age > REPORTABLE_MS) return !(await addDataPoint(ctx, shift, now));
  return latest?.state === "done" || age > WAITED_MS;
}

/** Drops the report that is being written for a shift, if any. */
export async function dropReport(ctx: MutationCtx, shiftId: Id<"shifts">): Promise<void> {
  const row = await queryBy(ctx.db.query("reports"), "jobId", shiftId).order("desc").first();
  if (row?.state !== "writing") return;
  await cancel(ctx, row._id);
  await ctx.db.delete("reports", row._id);
}

/** Stores a report, sends its card, and advances its shift. */
export const storeReport = defineMutation(
  {
    reportId: v.id("reports"),
    job: vJob,
    result: vResearchResult,
    model: v.string(),
    tokensUsed: v.number(),
    usage: vProviderUsage,
  },
  async (ctx, { reportId, job, result, model, tokensUsed, usage }) => {
    await flushUsage(ctx, usage);
    if (!(await completeWork(ctx, job))) return;
    const row = await ctx.db.get("reports", reportId);
    const shift = row?.state === "writing" ? await ctx.db.get("shifts", row.jobId) : null;
    if (row === null || shift === null) return;
    const now = Date.now();
    const runId = await recordRun(ctx, {
      userId: row.userId,
      agentId: AGENT_ID,
      title: `${REPORTS[row.kind].title} on ${getFocusName(shift.token)}`,
      status: "completed",
      model,
      tokensUsed,
      startedAt: row.generatedAt,
      finishedAt: now,
    });
    await ctx.db.patch("reports", reportId, { state: "done", generatedAt: now, result, runId });
    await notifyShift(ctx, shift, { ...row, generatedAt: now }, result);
    await advanceShift(ctx, row);
  },
);

async function notifyShift(
  ctx: MutationCtx,
  shift: Doc<"shifts">,
  { _id: reportId, kind, generatedAt }: Doc<"reports">,
  result: ResearchResult,
): Promise<void> {
  const type = getReportType(kind);
  await emitToOwner(ctx, shift.userId, "report.ready", {
    reportId,
    jobId: shift._id,
    type,
    token: shift.token,
    generatedAt: toIso(generatedAt),
    outlook: result.marketOutlook,
    summary: removeCitations(result.shortSummary),
    path: `/mcp/research/report?jobId=${shift._id}`,
  });
  const handle: string = await createFunctionHandle(internal.research.reports.storeReportDelivery);
  await enqueueCard(ctx, {
    userId: shift.userId,
    bot: shift.bot,
    chatId: shift.messengerChatId,
    kind: `${type} report`,
    topic: getShiftTopic(shift._id),
    paragraphs: buildReportCard(shift, { kind, generatedAt, result }),
    onSettled: { handle, subject: reportId },
  });
}

/** After the last attempt, the shift goes on without this report, whose row has the reason. */
export const storeReportFailure = defineMutation(
  { reportId: v.id("reports"), ...vFailure },
  async (ctx, { reportId, error, isLast }) => {
    const row = await ctx.db.get("reports", reportId);
    if (!isLast || row?.state !== "writing") return;
    await ctx.db.patch("reports", reportId, { state: "failed", generatedAt: Date.now(), error });
    await advanceShift(ctx, row);
  },
);

/** Goes on to the next report, or ends the shift after its final one, whether a report was written or given up. */
async function advanceShift(ctx: MutationCtx, { jobId, jobStartedAt, kind }: Doc<"reports">): Promise<void> {
  const nextReportAt = getNextReportDueAt(kind, jobStartedAt);
  const end = { status: "completed", endedAt: Date.now() } as const;
  await ctx.db.patch("shifts", jobId, nextReportAt === undefined ? end : { nextReportAt });
}

/** The outbox's result for a report's card; it fails if the report has been deleted meanwhile, which the outbox logs. */
export const storeReportDelivery = defineMutation(
  { subject: v.string(), sent: v.boolean(), error: v.optional(v.string()) },
  async (ctx, { subject, sent, error }) => {
    const reportId = ctx.db.normalizeId("reports", subject);
    if (reportId === null) return;
    await ctx.db.patch("reports", reportId, { messengerSent: sent, deliveryProblem: error });
  },
);

/** The latest report on a token, from any user's shift, or of one shift. */
export const getLatestReport = internalQuery({
  args: { of: v.union(v.object({ token: v.string() }), v.object({ jobId: v.string() })) },
  returns: v.union(vReport, v.null()),
  handler: async (ctx, { of }) => {
    if ("token" in of) {
      const on = queryByBoth(ctx.db.query("reports"), "jobToken", of.token, "state", "done");
      const row = await on.order("desc").first();
      return row === null ? null : toPublicReport(row);
    }
    const shiftId = ctx.db.normalizeId("shifts", of.jobId);
    const all = shiftId === null ? [] : await listReports(ctx, shiftId);
    const row = all.findLast(({ state }) => state === "done");
    return row === undefined ? null : toPublicReport(row);
  },
});
