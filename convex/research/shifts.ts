import { v } from "convex/values";
import { pick } from "convex-helpers";
import { internal } from "../_generated/api";
import type { Doc } from "../_generated/dataModel";
import { internalMutation, internalQuery, type MutationCtx, type QueryCtx } from "../_generated/server";
import { cron } from "../lib/cronRuns";
import { AppError, KEY_USED } from "../lib/errors";
import { vPayer } from "../lib/tables";
import { withoutCitations } from "../lib/text/strings";
import { iso, MINUTE, NEVER } from "../lib/time";
import { rowsBy, rowsByBoth } from "../lib/records/rows";
import { callOffCards, deliveryProblemOf, enqueueCard, isOwnChat } from "../messenger/model";
import { startCard, stopButton } from "./reports/cards";
import { dueAfterMs, SHIFT_MS } from "./reports/checkpoints";
import { addDataPoint, isDataPointAdded } from "./reports/dataPoints";
import {
  activeShiftsOf,
  endOf,
  holdersOfShift,
  lastEndedOf,
  lastCollectionOf,
  latestReportsOf,
  MAX_ACTIVE,
  MAX_ACTIVE_AROUND,
  MAX_ACTIVE_BY_ID,
  MAX_ACTIVE_IN_ALL,
  shiftTopic,
  deliveryOf,
} from "./model";
import { vShiftStatus } from "./validators";

/** Due shifts per transaction; a full batch is followed by another. */
const BATCH = 100;
/** A collection that is due this soon is done now, not at the next check. */
const SOON_MS = MINUTE;

/**
 * Starts a shift: the job, its first data point and the start notice in one transaction.
 * @throws AppError `conflict` if the idempotency key was used for another request; `rate_limited` if the user already
 * runs 10, or the day's budget is used up.
 */
export const start = internalMutation({
  args: {
    userId: v.string(),
    token: v.optional(v.string()),
    messengerChatId: v.optional(v.string()),
    idempotencyKey: v.optional(v.string()),
    signedIn: v.boolean(),
    byId: v.optional(v.boolean()),
    /** Whose part of the day's budget pays for it. */
    paidBy: vPayer,
    /** Whether its first card has a button that stops it, for the chat that started it. */
    stoppable: v.optional(v.boolean()),
  },
  returns: v.object({ jobId: v.id("shifts"), startedAt: v.number(), stopsAt: v.number() }),
  handler: async (ctx, { stoppable, ...wish }) => {
    const { userId, token, messengerChatId, idempotencyKey, byId } = wish;
    const earlier = await startedWith(ctx, userId, idempotencyKey);
    if (earlier !== null) {
      if (earlier.focus !== (token ?? "") || earlier.messengerChatId !== messengerChatId) {
        throw new AppError("conflict", KEY_USED);
      }
      return { jobId: earlier._id, startedAt: earlier.startedAt, stopsAt: earlier.stopsAt };
    }
    const now = Date.now();
    const active = await activeShiftsOf(ctx, userId);
    refuseBeyond(MAX_ACTIVE, active, now);
    if (byId === true) {
      const begunSo = active.filter((shift) => shift.byId === true);
      refuseBeyond(MAX_ACTIVE_BY_ID, begunSo, now, " by userId alone");
    }
    const everybodys = await ctx.db
      .query("shifts")
      .withIndex("by_status_and_nextCollectionAt", (q) => q.eq("status", "active"))
      .take(MAX_ACTIVE_IN_ALL);
    refuseBeyond(MAX_ACTIVE_IN_ALL, everybodys, now, " by everybody together");
    const holders = holdersOfShift(wish) ?? [];
    for (const holder of holders) {
      const around = everybodys.filter((shift) => holdersOfShift(shift)?.includes(holder));
      refuseBeyond(MAX_ACTIVE_AROUND, around, now, " from one network address");
    }
    const isForeign =
      byId === true && messengerChatId !== undefined && !(await isOwnChat(ctx, userId, messengerChatId));
    const bot = isForeign ? ("default" as const) : undefined;
    const jobId = await ctx.db.insert("shifts", {
      ...wish,
      ...(bot === undefined ? {} : { bot }),
      focus: token ?? "",
      startedAt: now,
      stopsAt: now + SHIFT_MS,
      status: "active",
      nextCollectionAt: now,
      collectionsCount: 0,
      evidence: "",
      nextReport: "interim1",
      nextReportAt: now + dueAfterMs.interim1,
      interimReportsCount: 0,
      finalReportSent: false,
    });
    const shift = await ctx.db.get("shifts", jobId);
    if (shift !== null) await addDataPoint(ctx, shift, now);
    await enqueueCard(ctx, {
      userId,
      bot,
      chatId: messengerChatId,
      kind: "shift started",
      topic: shiftTopic(jobId),
      paragraphs: startCard({ token: token ?? null, startedAt: now }),
      ...(stoppable === true ? { buttons: [[stopButton(jobId, token ?? null)]] } : {}),
    });
    return { jobId, startedAt: now, stopsAt: now + SHIFT_MS };
  },
});

/** @throws AppError `rate_limited` if too many shifts are active. */
function refuseBeyond(most: number, active: readonly Doc<"shifts">[], now: number, how = ""): void {
  if (active.length < most) return;
  const freeAt = Math.min(...active.map(({ stopsAt }) => stopsAt));
  throw new AppError("rate_limited", `At most ${most} research shifts can be active at once${how}`, {
    retryAfterMs: Math.max(0, freeAt - now),
  });
}

/** Stops the user's active shifts, or one of them. Their work in progress is dropped, and nothing more is sent. */
export const stop = internalMutation({
  args: { userId: v.string(), jobId: v.optional(v.id("shifts")) },
  returns: v.number(),
  handler: async (ctx, { userId, jobId }) => {
    const all = await activeShiftsOf(ctx, userId);
    const active = jobId === undefined ? all : all.filter(({ _id }) => _id === jobId);
    for (const shift of active) {
      await dropUnfinishedDataPoint(ctx, shift);
      await callOffCards(ctx, shiftTopic(shift._id));
      await ctx.db.patch("shifts", shift._id, {
        status: "stopped",
        endedAt: Date.now(),
        nextCollectionAt: NEVER,
        nextReportAt: NEVER,
        synthesisId: undefined,
      });
    }
    return active.length;
  },
});

/**
 * The collection check: adds a data point to every shift that is due, from one observation per focus. Collections that
 * are due within a minute are done now: checks come slightly earlier or later than the interval, and a shift that
 * narrowly missed one would wait for the next.
 */
export const collectDue = cron("collect data for research shifts", async (ctx) => {
  const now = Date.now();
  const shifts = await ctx.db
    .query("shifts")
    .withIndex("by_status_and_nextCollectionAt", (q) =>
      q.eq("status", "active").lte("nextCollectionAt", now + SOON_MS),
    )
    .take(BATCH);
  for (const shift of shifts) {
    if (shift.nextCollectionAt > now) continue;
    // After a shift's end, only its final report adds one.
    if (now < shift.stopsAt) await isDataPointAdded(ctx, shift, now);
    else await ctx.db.patch("shifts", shift._id, { nextCollectionAt: NEVER });
  }
  const last = shifts.at(-1);
  if (last !== undefined && (shifts.length === BATCH || last.nextCollectionAt > now)) {
    const at = Math.max(now, last.nextCollectionAt);
    await ctx.scheduler.runAt(at, internal.research.shifts.collectDue, {});
  }
});

/** A user's active shifts, the newest one in full, their latest reports, and the state of delivery. */
export const status = internalQuery({
  args: { userId: v.string() },
  returns: vShiftStatus,
  handler: async (ctx, { userId }) => {
    const reports = await latestReportsOf(ctx, userId);
    const active = await activeShiftsOf(ctx, userId);
    const [newest] = active;
    const ended = await lastEndedOf(ctx, userId);
    const last = newest === undefined ? null : await lastCollectionOf(ctx, newest._id);
    return {
      activeJob:
        newest === undefined
          ? null
          : {
              ...shownShift(newest),
              ...pick(newest, ["status", "interimReportsCount", "finalReportSent", "collectionsCount"]),
              lastCollection: last === null ? null : { ...last, at: iso(last.at) },
            },
      lastJob: ended === null ? null : shownEnd(ended),
      activeJobs: active.map(shownShift),
      deliveryProblem: await deliveryProblemOf(ctx, userId),
      recentReports: await Promise.all(reports.map((report) => shownReport(ctx, report))),
    };
  },
});

async function shownReport(ctx: QueryCtx, report: Doc<"reports">) {
  const { type, generatedAt, result } = report;
  return {
    type,
    generatedAt: iso(generatedAt),
    outlook: result.marketOutlook,
    summary: withoutCitations(result.shortSummary),
    ...(await deliveryOf(ctx, report)),
  };
}

function shownShift({ _id: jobId, token, startedAt, stopsAt }: Doc<"shifts">) {
  return { jobId, token: token ?? null, startedAt: iso(startedAt), stopsAt: iso(stopsAt) };
}

function shownEnd(shift: Doc<"shifts">) {
  const { interimReportsCount, finalReportSent, collectionsCount, error = null } = shift;
  return {
    ...shownShift(shift),
    status: shift.status === "stopped" ? ("stopped" as const) : ("completed" as const),
    endedAt: iso(endOf(shift)),
    ...{ interimReportsCount, finalReportSent, collectionsCount, error },
  };
}

/** Deletes the data point of a running collection: its late result does not belong to the stopped shift. */
async function dropUnfinishedDataPoint(ctx: MutationCtx, shift: Doc<"shifts">): Promise<void> {
  const latest = await rowsBy(ctx.db.query("dataPoints"), "shiftId", shift._id).order("desc").first();
  if (latest === null) return;
  const observation = await ctx.db.get("observations", latest.observationId);
  if (observation?.state === "collecting") await ctx.db.delete("dataPoints", latest._id);
}

async function startedWith(
  ctx: QueryCtx,
  userId: string,
  idempotencyKey: string | undefined,
): Promise<Doc<"shifts"> | null> {
  if (idempotencyKey === undefined) return null;
  return rowsByBoth(ctx.db.query("shifts"), "userId", userId, "idempotencyKey", idempotencyKey).unique();
}
