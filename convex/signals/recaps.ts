import { v } from "convex/values";
import { internal } from "../_generated/api";
import { internalMutation, internalQuery, type MutationCtx, type QueryCtx } from "../_generated/server";
import { change } from "../lib/changes";
import { cron } from "../lib/cronRuns";
import { vCaller } from "../lib/limits/callers";
import { beginRefresh, finishRefresh, vResultOf } from "../lib/cache";
import { vTicket, type Ticket } from "../lib/tables";
import { MINUTE } from "../lib/time";
import { end, failureHandler, open, vFailure, vJob, workOn } from "../lib/work/jobs";
import { enqueueServiceCard } from "../messenger/notices";
import { publishedHead } from "./anchors";
import { pictureOfWeek, weekCard } from "./cards";
import { outcomesKey, recordFor, signalsOfDay } from "./model";
import { standingOf } from "./record";
import { daysOfWeek, weekDueAt, type Token } from "./rules";
import { vSignal, vWeek, type Signal, type Week } from "./tables";

/** The reviews of days, and the recaps of weeks. */

/**
 * After a failure the figures are shown without a review for this long, so that callers do not wait for a gateway that
 * is down.
 */
const REST_MS = MINUTE;
/** After 1, 4 and 9 minutes; then a week's recap goes out without a review. */
const ATTEMPTS = 4;

/** A day's signals as they are now, and the review of exactly these outcomes; `null` while there is none. */
export async function reviewedDay(ctx: QueryCtx, day: string) {
  const signals = await signalsOfDay(ctx, day);
  const written = await recapOf(ctx, "day", day);
  const isCurrent = written?.period === "day" && written.outcomes === outcomesKey(signals);
  return { signals, review: isCurrent ? written.review : null };
}

async function recapOf(ctx: QueryCtx, period: "day" | "week", of: string) {
  return ctx.db
    .query("recaps")
    .withIndex("by_period", (q) => q.eq("period", period).eq("of", of))
    .unique();
}

export const ofDay = internalQuery({
  args: { day: v.string() },
  returns: v.object({ signals: v.array(vSignal), review: v.union(v.string(), v.null()) }),
  handler: async (ctx, { day }) => reviewedDay(ctx, day),
});

/** Starts the review of a day, or joins the one under way or that failed within the minute. */
export const begin = internalMutation({
  args: { day: v.string(), caller: vCaller },
  returns: vTicket,
  handler: async (ctx, { day, caller }): Promise<Ticket> => {
    const about = { key: `signals review:${day}`, restMs: REST_MS, caller };
    return beginRefresh(ctx, about, internal.signals.actions.reviewDay, { day });
  },
});

export const store = change(
  { of: vResultOf, day: v.string(), outcomes: v.string(), review: v.string(), model: v.string() },
  async (ctx, { of, day, ...written }) => {
    if (!(await finishRefresh(ctx, of))) return;
    const recap = { period: "day" as const, of: day, ...written, generatedAt: Date.now() };
    const row = await recapOf(ctx, "day", day);
    if (row === null) await ctx.db.insert("recaps", recap);
    else await ctx.db.replace("recaps", row._id, recap);
  },
);

/**
 * The weekly job: has the latest week that is due reviewed, once, no matter how often it runs. If it runs late, on
 * Monday or after, it is still the week before.
 */
export const openDue = cron("recap the week's signals", async (ctx) => {
  const week = weekDueAt(Date.now());
  const subject = `recap of ${week}`;
  if ((await recapOf(ctx, "week", week)) !== null || (await workOn(ctx, subject)) !== null) return;
  const { wins, losses, expired, pending } = await figuresOf(ctx, week);
  if (wins + losses + expired + pending === 0) return finish(ctx, week, null);
  const onFailure = failureHandler(internal.signals.recaps.weekFailed, { week });
  const terms = { queue: "models", attempts: ATTEMPTS, onFailure, subject } as const;
  await open(ctx, internal.signals.actions.reviewWeek, { week }, terms);
});

export const ofWeek = internalQuery({
  args: { week: v.string() },
  returns: vWeek,
  handler: async (ctx, { week }) => figuresOf(ctx, week),
});

export const storeWeek = change(
  { week: v.string(), job: vJob, written: v.object({ review: v.string(), model: v.string() }) },
  async (ctx, { week, job, written }) => {
    if (await end(ctx, job)) await finish(ctx, week, written);
  },
);

export const weekFailed = change({ week: v.string(), ...vFailure }, async (ctx, { week, isLast }) => {
  if (isLast) await finish(ctx, week, null);
});

/** Stores the recap and sends its card, in one transaction. */
async function finish(
  ctx: MutationCtx,
  week: string,
  written: { review: string; model: string } | null,
): Promise<void> {
  if ((await recapOf(ctx, "week", week)) !== null) return;
  const figures = await figuresOf(ctx, week);
  const { review, model } = written ?? { review: null, model: null };
  const recap = { period: "week", of: week, figures, review, model, generatedAt: Date.now() } as const;
  await ctx.db.insert("recaps", recap);
  const about = { review, whole: await recordFor(ctx, "ALL"), head: await publishedHead(ctx) };
  await enqueueServiceCard(ctx, {
    kind: "weekly recap",
    paragraphs: weekCard(week, figures, about),
    picture: await pictureOfWeek(week),
  });
}

async function figuresOf(ctx: QueryCtx, week: string): Promise<Week> {
  const days = await Promise.all(
    daysOfWeek(week).map(async (day) => ({ day, signals: await signalsOfDay(ctx, day) })),
  );
  const byToken = (signals: readonly Signal[], wanted: Token) =>
    signals.find(({ token }) => token === wanted) ?? null;
  return {
    ...standingOf(days.flatMap(({ signals }) => signals)),
    days: Object.fromEntries(
      days.map(({ day, signals }) => [day, { BTC: byToken(signals, "BTC"), ETH: byToken(signals, "ETH") }]),
    ),
  };
}
