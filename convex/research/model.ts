import type { Doc, Id } from "../_generated/dataModel";
import type { QueryCtx } from "../_generated/server";
import { sha256Hex } from "../lib/security/digests";
import { iso } from "../lib/time";
import type { Rank } from "../lib/work/jobs";
import { rowsBy, rowsByBoth } from "../lib/records/rows";

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

/** A user's latest reports, newest first. */
export async function latestReportsOf(ctx: QueryCtx, userId: string): Promise<Doc<"reports">[]> {
  return rowsBy(ctx.db.query("reports"), "userId", userId).order("desc").take(RECENT_REPORTS);
}

/** The most active shifts of a user. */
export const MAX_ACTIVE = 10;
/** The most that one network address has started, and the most in all: each asks the models for eight hours. */
export const MAX_ACTIVE_AROUND = 20;
export const MAX_ACTIVE_IN_ALL = 100;
/** The most of them that may be started by `userId` alone, if it has an owner. */
export const MAX_ACTIVE_BY_ID = 3;

/** All of a user's active shifts, newest first. */
export async function activeShiftsOf(ctx: QueryCtx, userId: string): Promise<Doc<"shifts">[]> {
  return rowsByBoth(ctx.db.query("shifts"), "userId", userId, "status", "active")
    .order("desc")
    .take(MAX_ACTIVE);
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
  return rows.toSorted((a, b) => endOf(b) - endOf(a))[0] ?? null;
}

/** Epoch ms. */
export const endOf = ({ endedAt, stopsAt }: Doc<"shifts">): number => endedAt ?? stopsAt;

export type Collection = {
  /** Epoch ms. */
  at: number;
  /** The sources that returned nothing, and why. */
  failed: { source: string; error: string }[];
};

/** The result of a shift's latest finished collection; `null` if there is none. */
export async function lastCollectionOf(ctx: QueryCtx, shiftId: Id<"shifts">): Promise<Collection | null> {
  const latest = await rowsBy(ctx.db.query("dataPoints"), "shiftId", shiftId).order("desc").take(2);
  for (const { observationId } of latest) {
    const observation = await ctx.db.get("observations", observationId);
    if (observation?.state !== "settled") continue;
    const failed = Object.entries(observation.sources).flatMap(([source, reading]) =>
      reading.state === "failed" ? [{ source, error: reading.error }] : [],
    );
    return { at: observation.collectedAt ?? observation.requestedAt, failed };
  }
  return null;
}

/** Questions that differ only in case and spacing are the same. */
const questionHash = (question: string) => sha256Hex(question.toLowerCase().replace(/\s+/g, " "));

/** The subject of an on-demand result: a focus ("" for the whole market), and the question that it answers, if any. */
export type Subject = { focus: string; question?: string };

/** The key of a stored result. */
export function placeOf({ focus, question }: Subject) {
  return question === undefined ? { focus } : { focus, questionHash: questionHash(question) };
}

/** The stored on-demand result, however old. */
export async function resultOn(ctx: QueryCtx, subject: Subject): Promise<Doc<"researchResults"> | null> {
  const { focus, questionHash: hash } = { questionHash: undefined, ...placeOf(subject) };
  return ctx.db
    .query("researchResults")
    .withIndex("by_focus", (q) => q.eq("focus", focus).eq("questionHash", hash))
    .unique();
}

/** A user's research, for chat's prompt: the running shift and the last reports, in a few lines. */
export async function describeResearch(ctx: QueryCtx, userId: string): Promise<string | null> {
  const [newest] = await activeShiftsOf(ctx, userId);
  const reports = await latestReportsOf(ctx, userId);
  const lines = [...(newest === undefined ? [] : [describeShift(newest)]), ...reports.map(describeReport)];
  return lines.length === 0 ? null : lines.join("\n");
}

function describeShift({ token, startedAt, stopsAt, interimReportsCount }: Doc<"shifts">): string {
  const subject = token === undefined ? "the whole market" : token;
  return (
    `Running research shift on ${subject}, ${iso(startedAt)} to ` +
    `${iso(stopsAt)}, interim reports so far: ${interimReportsCount}.`
  );
}

function describeReport({ type, jobToken, generatedAt, result }: Doc<"reports">): string {
  const subject = jobToken === "" ? "the whole market" : jobToken;
  return `${type} report on ${subject}, ${iso(generatedAt)}: ${result.shortSummary}`;
}

export async function deliveryOf(
  ctx: Pick<QueryCtx, "db">,
  { _id, jobId, messengerSent, messengerError }: Doc<"reports">,
): Promise<{ messengerSent: boolean; deliveryProblem?: string }> {
  const deliveries = (await ctx.db.get("shifts", jobId))?.deliveries ?? [];
  const { sent, error } = deliveries.find(({ reportId }) => reportId === _id) ?? {
    ...{ sent: messengerSent ?? false, error: messengerError },
  };
  return { messengerSent: sent, ...(error === undefined ? {} : { deliveryProblem: error }) };
}
