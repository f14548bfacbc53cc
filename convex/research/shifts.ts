import { v } from "convex/values";
import type { Doc, Id } from "../_generated/dataModel";
import { internalMutation, internalQuery, type MutationCtx, type QueryCtx } from "../_generated/server";
import { defineMutation, defineCron } from "../platform/changes";
import { AppError, KEY_USED } from "../lib/errors";
import { refuseBeyond } from "../platform/limits/budget";
import { getSizes } from "../platform/limits/sizes";
import { queryByBoth } from "../platform/records";
import { vCallersPart } from "../platform/limits/callers";
import { formatMinute } from "../lib/time";
import { cancelCards, getDeliveryProblem, enqueueCard, isOwnChat } from "../messenger/model";
import { buildStartCard, buildStopButton } from "./cards";
import {
  listActiveShifts,
  findLastEnded,
  listLatestReports,
  MAX_ACTIVE,
  REPORTS,
  SHIFT_MS,
  getShiftTopic,
  toPublicShift,
  vShiftStatus,
} from "./model";
import { addDataPoint } from "./observations";
import { dropReport, openDueReport } from "./reports";

/** Shifts: their start and end, and the collections in between. Their reports are in `research/reports`. */

/** The most active shifts that one network address has started. */
const MAX_ACTIVE_AROUND = 20;
/** The most shifts that one check looks at; it is followed by another within minutes. */
const CHECKED = 100;

/**
 * Starts a shift: the job, its first data point and the start notice in one transaction.
 * @throws AppError `conflict` if the idempotency key was used for another request; `rate_limited` if the user already
 * runs 10, or the day's budget is used up.
 */
export const startShift = internalMutation({
  args: {
    userId: v.string(),
    /** "" for the whole market. */
    token: v.string(),
    messengerChatId: v.optional(v.string()),
    idempotencyKey: v.optional(v.string()),
    /** Whether it is started by `userId` alone although the id has an owner. */
    byId: v.optional(v.boolean()),
    /** The billing subject of the shift. */
    paidBy: vCallersPart,
    /** Whether the first card has a button that stops the shift, for the chat that started it. */
    stoppable: v.optional(v.boolean()),
  },
  returns: v.object({ jobId: v.id("shifts"), startedAt: v.number(), stopsAt: v.number() }),
  handler: async (ctx, { stoppable, byId, ...request }) => {
    const { userId, token, messengerChatId: chatId, idempotencyKey, paidBy } = request;
    const shifts = ctx.db.query("shifts");
    const earlier =
      idempotencyKey === undefined
        ? null
        : await queryByBoth(shifts, "userId", userId, "idempotencyKey", idempotencyKey).unique();
    if (earlier !== null) {
      if (earlier.token !== token || earlier.messengerChatId !== chatId)
        throw new AppError("conflict", KEY_USED);
      return { jobId: earlier._id, startedAt: earlier.startedAt, stopsAt: earlier.stopsAt };
    }
    const startedAt = Date.now();
    const how =
      stoppable === true
        ? "the button below a start notice stops one"
        : "POST /mcp/research/stop stops a user's";
    refuseActive(MAX_ACTIVE, await listActiveShifts(ctx, userId), startedAt, "of one user", how);
    const everybodys = await listAllActiveShifts(ctx);
    refuseActive(getSizes().shifts, everybodys, startedAt, "of everybody together", how);
    for (const holder of paidBy.holders) {
      const around = everybodys.filter((shift) => shift.paidBy.holders.includes(holder));
      refuseActive(MAX_ACTIVE_AROUND, around, startedAt, "from one network address", how);
    }
    await refuseBeyond(ctx, paidBy);
    const isForeign = byId === true && chatId !== undefined && !(await isOwnChat(ctx, userId, chatId));
    const sender = isForeign ? { bot: "default" as const } : {};
    const stopsAt = startedAt + SHIFT_MS;
    const jobId = await ctx.db.insert("shifts", {
      ...request,
      ...sender,
      startedAt,
      stopsAt,
      status: "active",
      nextCollectionAt: startedAt,
      nextReportAt: startedAt + REPORTS.interim1.dueAfterMs,
      observationIds: [],
    });
    const shift = await ctx.db.get("shifts", jobId);
    if (shift !== null) await addDataPoint(ctx, shift, startedAt);
    await enqueueCard(ctx, {
      ...sender,
      userId,
      chatId,
      kind: "shift started",
      topic: getShiftTopic(jobId),
      paragraphs: buildStartCard({ token, startedAt }),
      ...(stoppable === true ? { buttons: [[buildStopButton(jobId, token)]] } : {}),
    });
    return { jobId, startedAt, stopsAt };
  },
});

/**
 * @param whose Such as "of one user".
 * @param how How to stop one.
 * @throws AppError `rate_limited` if too many shifts are active.
 */
function refuseActive(
  most: number,
  active: readonly Doc<"shifts">[],
  now: number,
  whose: string,
  how: string,
): void {
  if (active.length < most) return;
  const freeAt = Math.min(...active.map(({ stopsAt }) => stopsAt));
  const problem = `At most ${most} research shifts ${whose} can be active at once: the first of them ends at ${formatMinute(freeAt)}, and ${how}`;
  throw new AppError("rate_limited", problem, { retryAfterMs: Math.max(0, freeAt - now) });
}

/** Stops the user's active shifts, or one of them. Their work in progress is dropped, and nothing more is sent. */
export const stop = internalMutation({
  args: { userId: v.string(), jobId: v.optional(v.id("shifts")) },
  returns: v.number(),
  handler: async (ctx, { userId, jobId }) => {
    const all = await listActiveShifts(ctx, userId);
    const active = jobId === undefined ? all : all.filter(({ _id }) => _id === jobId);
    for (const shift of active) {
      await dropReport(ctx, shift._id);
      await cancelCards(ctx, getShiftTopic(shift._id));
      const { observationIds } = shift;
      const last = observationIds.at(-1);
      const isLate = last !== undefined && (await ctx.db.get("observations", last))?.state !== "done";
      await ctx.db.patch("shifts", shift._id, {
        status: "stopped",
        endedAt: Date.now(),
        observationIds: isLate ? observationIds.slice(0, -1) : observationIds,
      });
    }
    return active.length;
  },
});

/** All active shifts, of which there are at most as many as the deployment's class allows. */
async function listAllActiveShifts(ctx: QueryCtx): Promise<Doc<"shifts">[]> {
  return ctx.db
    .query("shifts")
    .withIndex("by_status_and_nextCollectionAt", (q) => q.eq("status", "active"))
    .take(getSizes().shifts);
}

/** Adds data points to the shifts that are due for one, and enqueues the reports that are due. */
async function checkShifts(ctx: MutationCtx): Promise<void> {
  const now = Date.now();
  const uncollected = await ctx.db
    .query("shifts")
    .withIndex("by_status_and_nextCollectionAt", (q) => q.eq("status", "active").lte("nextCollectionAt", now))
    .take(CHECKED);
  const shared = new Map<string, Id<"observations">>();
  // After a shift's end, only its final report adds a data point.
  for (const shift of uncollected) if (now < shift.stopsAt) await addDataPoint(ctx, shift, now, shared);
  const unreported = await ctx.db
    .query("shifts")
    .withIndex("by_status_and_nextReportAt", (q) =>
      q.eq("status", "active").gt("nextReportAt", 0).lte("nextReportAt", now),
    )
    .take(CHECKED);
  for (const shift of unreported) await openDueReport(ctx, shift, now);
}

export const checkShiftsNow = defineMutation({}, checkShifts);
/** Every collection triggers a check of its own; this cron is for missed ones, and for the ends of shifts. */
export const checkDue = defineCron("check research shifts", checkShifts);

/** A user's active shifts, newest first, the one that ended last, their latest reports, and the state of delivery. */
export const getShiftStatus = internalQuery({
  args: { userId: v.string() },
  returns: vShiftStatus,
  handler: async (ctx, { userId }) => {
    const active = await listActiveShifts(ctx, userId);
    const ended = await findLastEnded(ctx, userId);
    return {
      active: await Promise.all(active.map((one) => toPublicShift(ctx, one))),
      ended: ended === null ? null : await toPublicShift(ctx, ended),
      reports: await listLatestReports(ctx, userId),
      deliveryProblem: await getDeliveryProblem(ctx, userId),
    };
  },
});
