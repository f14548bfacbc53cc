import { v, type Infer } from "convex/values";
import { parse } from "convex-helpers/validators";
import { internal } from "../_generated/api";
import type { Doc, Id } from "../_generated/dataModel";
import type { ActionCtx, QueryCtx } from "../_generated/server";
import { queryBy, queryByBoth } from "../platform/records";
import { AppError } from "../lib/errors";
import { defined, listKeys, pickFields } from "../lib/objects";
import { HOUR, toIso, MINUTE } from "../lib/time";
import { COLLECTIONS } from "../market/tables";
import {
  MODELS,
  researchTables,
  vResearchResult,
  type MissingSource,
  type ReportKind,
  type ResearchResult,
} from "./tables";

/** Shifts, reports and results: the reads and views that other rooms use. */
export const SHIFT_MS = 8 * HOUR;

/** The reports of a shift in their order, and when each is due, in ms after its start. */
export const REPORTS: Record<ReportKind, { title: string; dueAfterMs: number }> = {
  interim1: { title: "Interim report 1 of 2", dueAfterMs: 2.5 * HOUR },
  interim2: { title: "Interim report 2 of 2", dueAfterMs: 5 * HOUR },
  final: { title: "Final report", dueAfterMs: SHIFT_MS },
};
const KINDS = listKeys(REPORTS);

/**
 * The report that a shift owes at a time, from the due time of its next; `null` if none is due. After an outage, interim
 * reports whose successor is also due are skipped, and after 8 hours only the final report remains.
 */
export function getDueReport(startedAt: number, nextReportAt: number, now: number): ReportKind | null {
  const isOwed = (at: number) => nextReportAt <= at && at <= now;
  return KINDS.findLast((kind) => isOwed(startedAt + REPORTS[kind].dueAfterMs)) ?? null;
}

/** The due time of the report after this one, epoch ms; `undefined` after the final one. */
export function getNextReportDueAt(last: ReportKind, startedAt: number): number | undefined {
  const next = KINDS[KINDS.indexOf(last) + 1];
  return next === undefined ? undefined : startedAt + REPORTS[next].dueAfterMs;
}

/** How long all shifts and reports of a focus share an observation. */
export const SHARED_FOR_MS = 5 * MINUTE;

/**
 * How long a model's answer is reused by on-demand reports. Sentiment, of the last day's posts, is the slowest and most
 * expensive one: as long as a shift waits for its next.
 */
export const SERVES_MS: Record<keyof typeof MODELS, number> = {
  market: SHARED_FOR_MS,
  sentiment: 30 * MINUTE,
  onchain: SHARED_FOR_MS,
};

/** How long sentiment stands in for an answer that is on its way. */
export const STANDS_IN_MS = HOUR;

/** The reason for a missing source whose answer may still arrive. */
export const LATE_SOURCE = "It did not come in time";

/** The beginning of the reasons for an answer that was paid for and is of no use: the next one would cost as much. */
const PAID_IN_VAIN = "The sentiment model sent an";

/** Whether asking again at once would bring nothing but costs. */
export const isSettled = (reason: string): boolean =>
  reason === LATE_SOURCE || reason.startsWith(PAID_IN_VAIN);

/** A focus for readers: a token, or "" for the whole market. */
export const getFocusName = (focus: string): string => (focus === "" ? "the whole market" : focus);

/** The topic of a shift's cards. */
export const getShiftTopic = (shiftId: Id<"shifts">) => `shift:${shiftId}`;

/** The most active shifts of a user. */
export const MAX_ACTIVE = 10;

/** All of a user's active shifts, newest first. */
export async function listActiveShifts(ctx: QueryCtx, userId: string): Promise<Doc<"shifts">[]> {
  return queryByBoth(ctx.db.query("shifts"), "userId", userId, "status", "active")
    .order("desc")
    .take(MAX_ACTIVE);
}

/** The newest of the user's shifts that have ended; `null` if there is none. */
export async function findLastEnded(ctx: QueryCtx, userId: string): Promise<Doc<"shifts"> | null> {
  const newest = await ctx.db
    .query("shifts")
    .withIndex("by_userId_and_startedAt", (q) => q.eq("userId", userId))
    .order("desc")
    .take(MAX_ACTIVE + 1);
  return newest.find(({ status }) => status !== "active") ?? null;
}

/** A shift's reports, oldest first: at most one of each kind. */
export async function listReports(ctx: QueryCtx, shiftId: Id<"shifts">): Promise<Doc<"reports">[]> {
  return queryBy(ctx.db.query("reports"), "jobId", shiftId).take(KINDS.length);
}

/** A shift as its user sees it. */
const vShift = researchTables.shifts.validator
  .pick("token", "status", "startedAt", "stopsAt", "endedAt")
  .extend({
    _id: v.id("shifts"),
    collectionsCount: v.number(),
    interimReportsCount: v.number(),
    finalReportSent: v.boolean(),
    /** The reason why its last report could not be written. */
    error: v.optional(v.string()),
  });
export type Shift = Infer<typeof vShift>;

export async function toPublicShift(ctx: QueryCtx, row: Doc<"shifts">): Promise<Shift> {
  const reports = await listReports(ctx, row._id);
  const done = reports.flatMap(({ state, kind }) => (state === "done" ? [kind] : []));
  return pickFields(vShift, {
    ...row,
    collectionsCount: row.observationIds.length,
    interimReportsCount: done.filter((kind) => kind !== "final").length,
    finalReportSent: done.includes("final"),
    ...defined({ error: reports.at(-1)?.error }),
  });
}

/** A report as readers see it. */
export const vReport = researchTables.reports.validator
  .pick("jobId", "userId", "generatedAt", "messengerSent", "deliveryProblem", "jobToken", "jobStartedAt")
  .extend({
    _id: v.id("reports"),
    type: v.union(v.literal("interim"), v.literal("final")),
    result: vResearchResult,
  });
export type Report = Infer<typeof vReport>;

/** The status of a user's shifts. */
export const vShiftStatus = v.object({
  active: v.array(vShift),
  ended: v.union(vShift, v.null()),
  reports: v.array(vReport),
  deliveryProblem: v.union(v.string(), v.null()),
});

export type ShiftStatus = Infer<typeof vShiftStatus>;

/** A written report. */
export function toPublicReport({ result, ...row }: Doc<"reports">): Report {
  if (result === undefined) throw new AppError("internal", "The report is not written yet");
  return pickFields(vReport, { ...row, result, type: getReportType(row.kind) });
}

export const getReportType = (kind: ReportKind): Report["type"] => (kind === "final" ? "final" : "interim");

const RECENT_REPORTS = 3;

/** A user's latest reports, newest first. */
export async function listLatestReports(ctx: QueryCtx, userId: string): Promise<Report[]> {
  const rows = await queryByBoth(ctx.db.query("reports"), "userId", userId, "state", "done")
    .order("desc")
    .take(RECENT_REPORTS);
  return rows.map(toPublicReport);
}

/** A user's research for chat's prompt: the running shift and the last reports, line by line. */
export async function describeResearch(ctx: QueryCtx, userId: string): Promise<string[]> {
  const shifts = (await listActiveShifts(ctx, userId)).map(
    ({ token, startedAt, stopsAt }) =>
      `Running research shift on ${getFocusName(token)}, ${toIso(startedAt)} to ${toIso(stopsAt)}.`,
  );
  const reports = (await listLatestReports(ctx, userId)).map(
    ({ type, jobToken, generatedAt, result }) =>
      `${type} report on ${getFocusName(jobToken)}, ${toIso(generatedAt)}: ${result.shortSummary}`,
  );
  return [...shifts, ...reports];
}

/** On-demand results are answers of `platform/cache`, by focus. */
export const toResearchKey = (focus: string): string => `research:${focus}`;

export const parseResult = (body: string): ResearchResult => parse(vResearchResult, JSON.parse(body));

/** The last on-demand result on a focus, however old. */
export async function getStoredResult(
  ctx: Pick<ActionCtx, "runQuery">,
  focus: string,
): Promise<{ fetchedAt: number; result: ResearchResult } | null> {
  const row = await ctx.runQuery(internal.platform.cache.readAnswerAt, { key: toResearchKey(focus) });
  return row === null ? null : { fetchedAt: row.fetchedAt, result: parseResult(row.body) };
}

const NAMES = new Map<string, string>(Object.entries({ ...COLLECTIONS, ...MODELS }));

/** A missing source, for readers. */
export function describeMissing({
  collector,
  subject,
}: Pick<MissingSource, "collector" | "subject">): string {
  const name = NAMES.get(collector) ?? collector;
  return subject === "" ? name : `${name} of ${subject}`;
}
