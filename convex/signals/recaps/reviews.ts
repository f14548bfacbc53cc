import { getOneFrom } from "convex-helpers/server/relationships";
import { v } from "convex/values";
import { internal } from "../../_generated/api";
import { internalMutation, internalQuery } from "../../_generated/server";
import { change } from "../../lib/changes";
import { vCaller } from "../../lib/limits/callers";
import { vTicket, type Ticket } from "../../lib/tables";
import { beginInLane, finishInLane, vResultOf } from "../../lib/renewals";
import { MINUTE } from "../../lib/time";
import { reviewedDay } from "../record/model";
import { vSignal } from "../record/rows";

/** A day's signals and the AI's review of them, written once per day and set of outcomes. */

/**
 * After a failure the figures are shown without a review for this long, so that callers do not wait for a gateway that
 * is down.
 */
const REST_MS = MINUTE;

const vDay = v.object({
  signals: v.array(vSignal),
  /** The review of exactly these outcomes; `null` while there is none. */
  review: v.union(v.string(), v.null()),
});

/** The day's signals as they are now, and their review if it has been written. */
export const ofDay = internalQuery({
  args: { day: v.string() },
  returns: vDay,
  handler: async (ctx, { day }) => reviewedDay(ctx, day),
});

/** Starts the review of a day, or joins the one under way or that failed within the minute. */
export const begin = internalMutation({
  args: { day: v.string(), caller: vCaller },
  returns: vTicket,
  handler: async (ctx, { day, caller }): Promise<Ticket> => {
    const about = { key: `signals review:${day}`, restMs: REST_MS, caller };
    return beginInLane(ctx, about, internal.signals.recaps.desk.reviewDay, { day });
  },
});

export const store = change(
  { of: vResultOf, day: v.string(), outcomes: v.string(), review: v.string(), model: v.string() },
  async (ctx, { of, day, outcomes, review, model }) => {
    if (!(await finishInLane(ctx, of))) return;
    const written = { day, outcomes, review, model, writtenAt: Date.now() };
    const row = await getOneFrom(ctx.db, "signalReviews", "by_day", day);
    if (row === null) await ctx.db.insert("signalReviews", written);
    else await ctx.db.replace("signalReviews", row._id, written);
  },
);
