import { parse } from "convex-helpers/validators";
import { createFunctionHandle } from "convex/server";
import { v } from "convex/values";
import { internal } from "../../_generated/api";
import type { Doc } from "../../_generated/dataModel";
import { internalQuery, type MutationCtx, type QueryCtx } from "../../_generated/server";
import { change } from "../../lib/changes";
import { withoutCitations } from "../../lib/text/strings";
import { iso, NEVER } from "../../lib/time";
import { rowsBy } from "../../lib/records/rows";
import { enqueueCard } from "../../messenger/model";
import { tellOwner } from "../../messenger/webhooks/events";
import { recordRun } from "../../runs/model";
import { reportCard } from "./cards";
import { nextCheckpoint } from "./checkpoints";
import { shiftTopic, deliveryOf } from "../model";
import type { ReportKind } from "../shapes";
import { vReport } from "../tables";
import type { Written } from "../writing/writer";

/** Shifts per transaction: each gets a report, a run, a card and its own next step. */
const BATCH = 50;

/** The agent under whose name reports are written. */
const AGENT_ID = "research-default";

/** Publishes a finished synthesis to every shift that waits for it, batch after batch. */
export const publish = change({ synthesisId: v.id("syntheses") }, async (ctx, { synthesisId }) => {
  const synthesis = await ctx.db.get("syntheses", synthesisId);
  if (synthesis === null || synthesis.state === "writing") return;
  const waiting = await rowsBy(ctx.db.query("shifts"), "synthesisId", synthesisId).take(BATCH);
  const { result, model, tokensUsed } = synthesis;
  const handle: string = await createFunctionHandle(internal.research.reports.publications.delivered);
  for (const shift of waiting) {
    if (result === undefined || model === undefined || tokensUsed === undefined) {
      await advance(ctx, shift, synthesis.kind, {
        error: synthesis.error ?? "The report could not be written",
      });
    } else {
      await storeReport(ctx, shift, synthesis, { result, model, tokensUsed }, handle);
      await advance(ctx, shift, synthesis.kind, "reported");
    }
  }
  if (waiting.length === BATCH) {
    await ctx.scheduler.runAfter(0, internal.research.reports.publications.publish, { synthesisId });
  }
});

async function storeReport(
  ctx: MutationCtx,
  shift: Doc<"shifts">,
  synthesis: Doc<"syntheses">,
  { result, model, tokensUsed }: Written,
  handle: string,
): Promise<void> {
  const now = Date.now();
  const { kind } = synthesis;
  const type = kind === "final" ? "final" : "interim";
  const runId = await recordRun(ctx, {
    userId: shift.userId,
    agentId: AGENT_ID,
    title: `${type === "final" ? "Final" : "Interim"} report on ${shift.token ?? "the whole market"}`,
    status: "completed",
    model,
    tokensUsed,
    startedAt: synthesis.startedAt,
    finishedAt: now,
  });
  const reportId = await ctx.db.insert("reports", {
    jobId: shift._id,
    userId: shift.userId,
    type,
    generatedAt: now,
    result,
    jobToken: shift.focus,
    jobStartedAt: shift.startedAt,
    synthesisId: synthesis._id,
    runId,
  });
  await tellOwner(ctx, shift.userId, "report.ready", () => ({
    reportId,
    jobId: shift._id,
    type,
    token: shift.focus,
    generatedAt: iso(now),
    outlook: result.marketOutlook,
    summary: withoutCitations(result.shortSummary),
    path: `/mcp/research/report?jobId=${shift._id}`,
  }));
  await enqueueCard(ctx, {
    userId: shift.userId,
    bot: shift.bot,
    chatId: shift.messengerChatId,
    kind: `${type} report`,
    topic: shiftTopic(shift._id),
    paragraphs: reportCard({
      kind,
      token: shift.token ?? null,
      startedAt: shift.startedAt,
      generatedAt: now,
      result,
    }),
    onSettled: { handle, subject: `${reportId} ${shift._id}` },
  });
}

/** Moves a shift past a report, whether it was written or given up. */
async function advance(
  ctx: MutationCtx,
  shift: Doc<"shifts">,
  kind: ReportKind,
  outcome: "reported" | { error: string },
): Promise<void> {
  const reported = outcome === "reported";
  const next = nextCheckpoint(kind, shift.startedAt);
  const ending = {
    status: "completed" as const,
    endedAt: Date.now(),
    finalReportSent: reported,
    nextCollectionAt: NEVER,
    nextReportAt: NEVER,
  };
  await ctx.db.patch("shifts", shift._id, {
    synthesisId: undefined,
    ...(reported ? {} : { error: outcome.error }),
    ...(next === null
      ? ending
      : {
          nextReport: next.kind,
          nextReportAt: next.at,
          interimReportsCount: shift.interimReportsCount + (reported ? 1 : 0),
        }),
  });
}

/** The outbox's result for a report's card; cards of earlier versions have only the report as subject. */
export const delivered = change(
  { subject: v.string(), sent: v.boolean(), error: v.optional(v.string()) },
  async (ctx, { subject, sent, error }) => {
    const [report = "", by] = subject.split(" ");
    const reportId = ctx.db.normalizeId("reports", report);
    if (reportId === null) return;
    const shiftId = ctx.db.normalizeId("shifts", by ?? (await ctx.db.get("reports", reportId))?.jobId ?? "");
    const shift = shiftId === null ? null : await ctx.db.get("shifts", shiftId);
    if (shift === null) return;
    const deliveries = [
      ...(shift.deliveries ?? []),
      { reportId, sent, ...(error === undefined ? {} : { error }) },
    ];
    await ctx.db.patch("shifts", shift._id, { deliveries });
  },
);

/** The latest report of a shift, or on a token, from any user's shift; of both, the shift's on that token. */
export const latest = internalQuery({
  args: { token: v.optional(v.string()), jobId: v.optional(v.string()) },
  returns: v.union(vReport.extend({ deliveryProblem: v.optional(v.string()) }), v.null()),
  handler: async (ctx, { token, jobId: shift }) => {
    const row = shift === undefined ? await latestOn(ctx, token ?? "") : await latestOf(ctx, shift);
    if (row === null || (token !== undefined && row.jobToken !== token)) return null;
    return { ...parse(vReport, { ...row, messengerSent: false }), ...(await deliveryOf(ctx, row)) };
  },
});

async function latestOn(ctx: QueryCtx, token: string): Promise<Doc<"reports"> | null> {
  return rowsBy(ctx.db.query("reports"), "jobToken", token).order("desc").first();
}

async function latestOf(ctx: QueryCtx, jobId: string): Promise<Doc<"reports"> | null> {
  const shiftId = ctx.db.normalizeId("shifts", jobId);
  if (shiftId === null) return null;
  return rowsBy(ctx.db.query("reports"), "jobId", shiftId).order("desc").first();
}
