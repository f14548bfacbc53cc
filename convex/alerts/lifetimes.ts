import { internal } from "../_generated/api";
import type { Doc } from "../_generated/dataModel";
import { type MutationCtx, type QueryCtx } from "../_generated/server";
import { change } from "../lib/changes";
import { DAY, dateTime } from "../lib/time";
import { isProven } from "./allowances";
import { isChatUser } from "../messenger/model";
import { describe } from "./language/sentences";
import { tellOf } from "./firings";

/** How long an alert is active: nobody gets messages for ever about an alert that they have forgotten. */

/** From each confirmation on; shorter for strangers' alerts, because names cost nothing. */
const LIFETIME_MS = 90 * DAY;
const STRANGERS_LIFETIME_MS = 30 * DAY;
/** Its user is notified this long before the end. */
const NOTICE_MS = 7 * DAY;
/** How many are checked in one transaction. */
const BATCH = 25;

/** The fields about the end of an alert that its user wants from `now` (epoch ms) on. */
export async function lifeFrom(
  ctx: QueryCtx,
  { userId }: Pick<Doc<"alerts">, "userId">,
  now: number,
): Promise<{ expiresAt: number; reviewAt: number }> {
  // A chat with the bot certainly belongs to somebody; only a name costs nothing.
  const isSomebodys = isChatUser(userId) || (await isProven(ctx, userId));
  const expiresAt = now + (isSomebodys ? LIFETIME_MS : STRANGERS_LIFETIME_MS);
  return { expiresAt, reviewAt: expiresAt - NOTICE_MS };
}

/** For the tick: checks the alerts whose time has come, if there are any. */
export async function startReview(ctx: MutationCtx, now: number): Promise<void> {
  if ((await dueForReview(ctx, now, 1)).length > 0)
    await ctx.scheduler.runAfter(0, internal.alerts.lifetimes.review, {});
}

/** Rows of earlier versions have no end, and come first. */
async function dueForReview(ctx: MutationCtx, now: number, limit: number): Promise<Doc<"alerts">[]> {
  return ctx.db
    .query("alerts")
    .withIndex("by_reviewAt", (q) => q.eq("watched", true).lte("reviewAt", now))
    .take(limit);
}

/** Notifies users of alerts that end soon, and ends those whose time is over. */
export const review = change({}, async (ctx) => {
  const now = Date.now();
  const due = await dueForReview(ctx, now, BATCH);
  for (const alert of due) await reviewOne(ctx, alert, now);
  if (due.length === BATCH) await ctx.scheduler.runAfter(0, internal.alerts.lifetimes.review, {});
});

async function reviewOne(ctx: MutationCtx, alert: Doc<"alerts">, now: number): Promise<void> {
  const { _id, number, condition, expiresAt, reviewAt } = alert;
  if (expiresAt === undefined || reviewAt === undefined) {
    await ctx.db.patch("alerts", _id, await lifeFrom(ctx, alert, now));
  } else if (reviewAt < expiresAt) {
    // After an outage the notice is late, and the end comes a whole notice period after it.
    const ends = Math.max(expiresAt, now + NOTICE_MS);
    await ctx.db.patch("alerts", _id, { expiresAt: ends, reviewAt: ends });
    await tellOf(ctx, alert, {
      paragraphs: [
        [{ bold: `⏳ Alert ${number} ends soon` }, `\n${describe(condition)}`],
        [`It ends on ${dateTime(ends)}. A tap keeps it for another 90 days.`],
      ],
      buttons: [[{ text: "Keep it", command: `alert set ${_id}` }]],
    });
  } else {
    await ctx.db.patch("alerts", _id, { state: "off", watched: false, phase: "ended", endedAt: now });
  }
}
