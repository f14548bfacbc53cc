import { v, type Infer } from "convex/values";
import { parse } from "convex-helpers/validators";
import type { Doc, Id } from "../_generated/dataModel";
import type { QueryCtx } from "../_generated/server";
import { rowsByBoth } from "../lib/records/rows";
import { iso } from "../lib/time";
import type { Rank } from "../lib/work/jobs";
import { COLLECTIONS } from "../market/tables";
import { MODELS, researchTables, vResult, type Missing } from "./tables";

/** Shifts and reports as other rooms and readers see them. */

const RECENT_REPORTS = 3;

/** The rank of a shift's work; the shift may be gone by then. */
export function rankOfShift(shift: Doc<"shifts"> | null): Rank {
  return shift?.signedIn === true ? "signedIn" : "anonymous";
}

/** By whom a shift counts (`lib/limits/callers`). */
export function holdersOfShift({ paidBy }: Pick<Doc<"shifts">, "paidBy">): string[] | undefined {
  return typeof paidBy === "object" ? paidBy.holders : undefined;
}

/** The topic of a shift's cards. */
export const shiftTopic = (shiftId: Id<"shifts">) => `shift:${shiftId}`;

/** The most active shifts of a user. */
export const MAX_ACTIVE = 10;

/** All of a user's active shifts, newest first. */
export async function activeShiftsOf(ctx: QueryCtx, userId: string): Promise<Doc<"shifts">[]> {
  return rowsByBoth(ctx.db.query("shifts"), "userId", userId, "status", "active")
    .order("desc")
    .take(MAX_ACTIVE);
}

/** A shift as its user sees it. */
export const vShift = researchTables.shifts.validator
  .pick("status", "startedAt", "stopsAt", "endedAt", "interimReportsCount", "finalReportSent", "error")
  .extend({
    _id: v.id("shifts"),
    /** "" for the whole market. */
    token: v.string(),
    collectionsCount: v.number(),
  });
export type Shift = Infer<typeof vShift>;

export function shownShift(row: Doc<"shifts">): Shift {
  return parse(vShift, { ...row, token: row.focus, collectionsCount: row.observationIds.length });
}

/** The user's shift that ended last; `null` if there is none. */
export async function lastEndedOf(ctx: QueryCtx, userId: string): Promise<Doc<"shifts"> | null> {
  // Of each kind, the one that began last also ended last: all last eight hours, and a stop ends all.
  const ended = await Promise.all(
    (["completed", "stopped"] as const).map((status) =>
      rowsByBoth(ctx.db.query("shifts"), "userId", userId, "status", status).order("desc").first(),
    ),
  );
  const rows = ended.flatMap((row) => (row === null ? [] : [row]));
  return rows.toSorted((a, b) => (b.endedAt ?? 0) - (a.endedAt ?? 0))[0] ?? null;
}

/** When a collection ended (epoch ms), and the sources that returned nothing, with why. */
export const vCollection = v.object({
  at: v.number(),
  failed: v.array(v.object({ source: v.string(), error: v.string() })),
});
export type Collection = Infer<typeof vCollection>;

/** The result of a shift's latest finished collection; `null` if there is none. */
export async function lastCollectionOf(
  ctx: QueryCtx,
  { observationIds }: Doc<"shifts">,
): Promise<Collection | null> {
  for (const id of observationIds.slice(-2).toReversed()) {
    const row = await ctx.db.get("observations", id);
    if (row?.state !== "done") continue;
    const failed = row.missing.filter(({ collector }) => MODELS.some((one) => one === collector));
    return { at: row.at, failed: failed.map(({ collector: source, reason: error }) => ({ source, error })) };
  }
  return null;
}

/** A report as readers see it. */
export const vReport = researchTables.reports.validator
  .pick("jobId", "userId", "generatedAt", "messengerSent", "jobToken", "jobStartedAt")
  .extend({
    _id: v.id("reports"),
    type: v.union(v.literal("interim"), v.literal("final")),
    result: vResult,
    /** Why its card did not arrive. */
    deliveryProblem: v.optional(v.string()),
  });

export type Report = Infer<typeof vReport>;

/** What a user is told of their shifts. */
export const vStanding = v.object({
  active: v.array(vShift),
  /** Of the newest active one. */
  lastCollection: v.union(vCollection, v.null()),
  ended: v.union(vShift, v.null()),
  reports: v.array(vReport),
  deliveryProblem: v.union(v.string(), v.null()),
});

export type Standing = Infer<typeof vStanding>;

/** A report that is done. */
export function shownReport(row: Doc<"reports">): Report {
  const { _id, jobId, userId, kind, generatedAt, result, messengerError } = row;
  if (result === undefined) throw new Error("A report that is not done is not shown");
  return {
    _id,
    jobId,
    userId,
    type: kind === "final" ? "final" : "interim",
    generatedAt,
    result,
    messengerSent: row.messengerSent,
    ...(messengerError === undefined ? {} : { deliveryProblem: messengerError }),
    jobToken: row.jobToken,
    jobStartedAt: row.jobStartedAt,
  };
}

/** A user's latest reports, newest first. */
export async function latestReportsOf(ctx: QueryCtx, userId: string): Promise<Report[]> {
  const rows = await rowsByBoth(ctx.db.query("reports"), "userId", userId, "state", "done")
    .order("desc")
    .take(RECENT_REPORTS);
  return rows.map(shownReport);
}

/** The latest report on a token, from any user's shift; "" is the whole market. */
export async function latestReportOn(ctx: QueryCtx, token: string): Promise<Doc<"reports"> | null> {
  return rowsByBoth(ctx.db.query("reports"), "jobToken", token, "state", "done").order("desc").first();
}

/** A user's research, for chat's prompt: the running shift and the last reports, line by line. */
export async function describeResearch(ctx: QueryCtx, userId: string): Promise<string[]> {
  const [shift] = await activeShiftsOf(ctx, userId);
  const named = (token: string) => (token === "" ? "the whole market" : token);
  const lines = (await latestReportsOf(ctx, userId)).map(
    ({ type, jobToken, generatedAt, result }) =>
      `${type} report on ${named(jobToken)}, ${iso(generatedAt)}: ${result.shortSummary}`,
  );
  if (shift !== undefined) {
    const { focus, startedAt, stopsAt, interimReportsCount } = shift;
    lines.unshift(
      `Running research shift on ${named(focus)}, ${iso(startedAt)} to ${iso(stopsAt)}, interim reports so far: ${interimReportsCount}.`,
    );
  }
  return lines;
}

const NAMES = new Map<string, string>(
  Object.entries({
    ...COLLECTIONS,
    market: "market data",
    sentiment: "social sentiment",
    onchain: "on-chain signals",
  }),
);

export function nameOf({ collector, subject }: Pick<Missing, "collector" | "subject">): string {
  const name = NAMES.get(collector) ?? collector;
  return subject === "" ? name : `${name} of ${subject}`;
}
