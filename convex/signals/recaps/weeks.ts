import { omit } from "convex-helpers";
import { getOneFrom } from "convex-helpers/server/relationships";
import { v } from "convex/values";
import { internal } from "../../_generated/api";
import type { Doc, Id } from "../../_generated/dataModel";
import { internalQuery, type MutationCtx, type QueryCtx } from "../../_generated/server";
import { change } from "../../lib/changes";
import { cron } from "../../lib/cronRuns";
import { end, open, failureHandler, vFailure, vJob } from "../../lib/work/jobs";
import { enqueueServiceCard } from "../../messenger/notices";
import { publishedHead } from "../record/publication";
import { signalsOfDay, totalsOf } from "../record/model";
import { DAILY, vWeek, type Signal, type Week, type WeekSignal } from "../record/rows";
import { rounded, statisticsOf } from "../statistics/figures";
import { resultsOf, standingOf } from "../statistics/standings";
import { daysOfWeek, weekDueAt } from "../trade/calendar";
import { pictureOfWeek, weekCard } from "../views/cards";

/** A week's signals as they stood when it ended, with the AI's review of them. */

/** After 1, 4 and 9 minutes; then the recap goes out without a review. */
const ATTEMPTS = 4;

/**
 * The weekly job: opens the recap of the latest week that is due, once, no matter how often it runs. If it runs late,
 * on Monday or after, it still opens the recap of the week before. The figures are those of this moment.
 */
export const openDue = cron("recap the week's signals", async (ctx) => {
  const now = Date.now();
  const week = weekDueAt(now);
  const existing = await getOneFrom(ctx.db, "weeklyRecaps", "by_week", week);
  if (existing !== null) return;
  const figures = await figuresOf(ctx, week);
  const opened = { week, state: "writing" as const, attempt: 1, openedAt: now };
  const recapId = await ctx.db.insert("weeklyRecaps", { ...opened, ...figures });
  if (hasSignals(figures)) {
    const onFailure = failureHandler(internal.signals.recaps.weeks.failed, { recapId });
    const place = { lane: "service" as const, owner: "weekly recaps", request: false };
    const review = internal.signals.recaps.desk.reviewWeek;
    await open(ctx, review, { recapId }, { place, attempts: ATTEMPTS, onFailure });
  } else await finish(ctx, recapId, null);
});

/** The material of the review; `null` if it is written. */
export const task = internalQuery({
  args: { recapId: v.id("weeklyRecaps") },
  returns: v.union(v.object({ week: v.string(), figures: vWeek }), v.null()),
  handler: async (ctx, { recapId }) => {
    const recap = await writing(ctx, recapId);
    return recap === null ? null : { week: recap.week, figures: figuresIn(recap) };
  },
});

export const store = change(
  {
    recapId: v.id("weeklyRecaps"),
    job: vJob,
    written: v.object({ review: v.string(), model: v.string() }),
  },
  async (ctx, { recapId, job, written }) => {
    if (await end(ctx, job)) await finish(ctx, recapId, written);
  },
);

export const failed = change(
  { recapId: v.id("weeklyRecaps"), ...vFailure },
  async (ctx, { recapId, isLast }) => {
    const recap = await writing(ctx, recapId);
    if (recap === null) return;
    if (isLast) await finish(ctx, recapId, null);
    else await ctx.db.patch("weeklyRecaps", recapId, { attempt: recap.attempt + 1 });
  },
);

/** Ends the recap and sends its card, in one transaction. */
async function finish(
  ctx: MutationCtx,
  recapId: Id<"weeklyRecaps">,
  written: { review: string; model: string } | null,
): Promise<void> {
  const done = { state: "done" as const, generatedAt: Date.now(), review: null };
  await ctx.db.patch("weeklyRecaps", recapId, { ...done, ...written });
  const recap = await ctx.db.get("weeklyRecaps", recapId);
  if (recap === null) throw new Error("The row was just written");
  const whole = statisticsOf(await totalsOf(ctx, DAILY, "ALL"));
  const about = { review: written?.review ?? null, whole, head: await publishedHead(ctx) };
  const paragraphs = weekCard(recap.week, figuresIn(recap), about);
  const picture = await pictureOfWeek(recap.week);
  await enqueueServiceCard(ctx, { kind: "weekly recap", paragraphs, picture });
}

async function figuresOf(ctx: QueryCtx, week: string): Promise<Week> {
  const days = await Promise.all(
    daysOfWeek(week).map(async (day) => ({ day, signals: await signalsOfDay(ctx, day) })),
  );
  const signals = days.flatMap((one) => one.signals);
  const results = resultsOf(signals);
  const sum = results.reduce((total, pnl) => total + pnl, 0);
  return {
    days: Object.fromEntries(days.map(({ day, signals }) => [day, inWeek(signals)])),
    ...standingOf(signals),
    averagePnlPercent: results.length === 0 ? null : rounded(sum / results.length, 6),
    bestPnlPercent: results.length === 0 ? null : Math.max(...results),
    worstPnlPercent: results.length === 0 ? null : Math.min(...results),
  };
}

function inWeek(signals: readonly Signal[]): Week["days"][string] {
  const of = (token: Signal["token"]): WeekSignal | null => {
    const one = signals.find((signal) => signal.token === token);
    if (one === undefined) return null;
    const { signal, entry, confidence, status, pnlPercent, costBps } = one;
    return { signal, entry, confidence, status, pnlPercent: pnlPercent ?? null, costBps };
  };
  return { BTC: of("BTC"), ETH: of("ETH") };
}

function hasSignals({ wins, losses, expired, pending }: Week): boolean {
  return wins + losses + expired + pending > 0;
}

/** The figures of a stored recap, without the row's other fields. */
function figuresIn(recap: Doc<"weeklyRecaps">): Week {
  const about = ["_id", "_creationTime", "week", "state", "attempt", "openedAt"] as const;
  return omit(recap, [...about, "review", "model", "generatedAt"]);
}

async function writing(ctx: QueryCtx, recapId: Id<"weeklyRecaps">) {
  const recap = await ctx.db.get("weeklyRecaps", recapId);
  return recap?.state === "writing" ? recap : null;
}
