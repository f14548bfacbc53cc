import { v } from "convex/values";
import type { Doc } from "../_generated/dataModel";
import { internalMutation, internalQuery, type MutationCtx, type QueryCtx } from "../_generated/server";
import { cron, dueWork } from "../lib/cronRuns";
import { AppError, KEY_USED } from "../lib/errors";
import { rowsByBoth } from "../lib/records/rows";
import { vPayer } from "../lib/tables";
import { NEVER } from "../lib/time";
import { callOffCards, deliveryProblemOf, enqueueCard, isOwnChat } from "../messenger/model";
import { startCard, stopButton } from "./cards";
import {
  activeShiftsOf,
  holdersOfShift,
  lastCollectionOf,
  lastEndedOf,
  latestReportsOf,
  MAX_ACTIVE,
  shiftTopic,
  shownShift,
  vStanding,
} from "./model";
import { addDataPoint, isDataPointAdded } from "./observations";
import { dropReport, openDueReport } from "./reports";
import { SHIFT_MS } from "./timing";

/** Shifts: their start and end, and the collections in between. Their reports are `research/reports`. */

/** The most active shifts that one network address has started, and the most in all. */
const MAX_ACTIVE_AROUND = 20;
const MAX_ACTIVE_IN_ALL = 100;

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
    /** Whether it is started by `userId` alone although the id has an owner. */
    byId: v.optional(v.boolean()),
    /** Whose part of the day's budget pays for it. */
    paidBy: vPayer,
    /** Whether its first card has a button that stops it, for the chat that started it. */
    stoppable: v.optional(v.boolean()),
  },
  returns: v.object({ jobId: v.id("shifts"), startedAt: v.number(), stopsAt: v.number() }),
  handler: async (ctx, { stoppable, byId, ...wish }) => {
    const { userId, token, messengerChatId, idempotencyKey } = wish;
    const earlier =
      idempotencyKey === undefined
        ? null
        : await rowsByBoth(
            ctx.db.query("shifts"),
            "userId",
            userId,
            "idempotencyKey",
            idempotencyKey,
          ).unique();
    if (earlier !== null) {
      if (earlier.focus !== (token ?? "") || earlier.messengerChatId !== messengerChatId) {
        throw new AppError("conflict", KEY_USED);
      }
      return { jobId: earlier._id, startedAt: earlier.startedAt, stopsAt: earlier.stopsAt };
    }
    const now = Date.now();
    const active = await activeShiftsOf(ctx, userId);
    refuseActive(MAX_ACTIVE, active, now);
    const everybodys = await everybodysShifts(ctx);
    refuseActive(MAX_ACTIVE_IN_ALL, everybodys, now, " by everybody together");
    const holders = holdersOfShift(wish) ?? [];
    for (const holder of holders) {
      const around = everybodys.filter((shift) => holdersOfShift(shift)?.includes(holder));
      refuseActive(MAX_ACTIVE_AROUND, around, now, " from one network address");
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
      observationIds: [],
      nextReport: "interim1",
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
function refuseActive(most: number, active: readonly Doc<"shifts">[], now: number, how = ""): void {
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
      await dropReport(ctx, shift._id);
      await callOffCards(ctx, shiftTopic(shift._id));
      const { observationIds } = shift;
      const last = observationIds.at(-1);
      const isLate = last !== undefined && (await ctx.db.get("observations", last))?.state !== "done";
      await ctx.db.patch("shifts", shift._id, {
        status: "stopped",
        endedAt: Date.now(),
        nextCollectionAt: NEVER,
        observationIds: isLate ? observationIds.slice(0, -1) : observationIds,
      });
    }
    return active.length;
  },
});

/** All active shifts. */
async function everybodysShifts(ctx: QueryCtx): Promise<Doc<"shifts">[]> {
  return ctx.db
    .query("shifts")
    .withIndex("by_status_and_nextCollectionAt", (q) => q.eq("status", "active"))
    .take(MAX_ACTIVE_IN_ALL);
}

/** Adds a data point to every shift that is due for one, and has the reports written that are due. */
async function checkShifts(ctx: MutationCtx): Promise<void> {
  const now = Date.now();
  for (const shift of await everybodysShifts(ctx)) {
    const isDue = shift.nextCollectionAt <= now;
    // After a shift's end, only its final report adds one.
    if (isDue && now < shift.stopsAt) await isDataPointAdded(ctx, shift, now);
    const current = isDue ? await ctx.db.get("shifts", shift._id) : shift;
    if (current !== null) await openDueReport(ctx, current, now);
  }
}

export const check = dueWork(checkShifts);
/** Each collection calls for its own checks; the cron is for what was missed, and for the end. */
export const checkDue = cron("check research shifts", checkShifts);

/** A user's active shifts, newest first, the one that ended last, their latest reports, and the state of delivery. */
export const status = internalQuery({
  args: { userId: v.string() },
  returns: vStanding,
  handler: async (ctx, { userId }) => {
    const active = await activeShiftsOf(ctx, userId);
    const [newest] = active;
    const ended = await lastEndedOf(ctx, userId);
    return {
      active: active.map(shownShift),
      lastCollection: newest === undefined ? null : await lastCollectionOf(ctx, newest),
      ended: ended === null ? null : shownShift(ended),
      reports: await latestReportsOf(ctx, userId),
      deliveryProblem: await deliveryProblemOf(ctx, userId),
    };
  },
});
