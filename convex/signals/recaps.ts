import { v } from "convex/values";
import { internal } from "../_generated/api";
import { internalMutation, internalQuery, type MutationCtx, type QueryCtx } from "../_generated/server";
import { change } from "../lib/changes";
import { cron } from "../lib/cronRuns";
import { vCaller } from "../lib/limits/callers";
import { beginRefresh, finishRefresh, vResultOf } from "../lib/cache";
import { vTicket, type Ticket } from "../lib/tables";
import { MINUTE } from "../lib/time";
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

/** The weekly job: has the latest week that is due reviewed. If it runs late, on Monday or after, it is still the week before. */
export const openDue = cron("recap the week's signals", async (ctx) => {
  if (!(await recapWeek(ctx))) await finish(ctx, { week: weekDueAt(Date.now()), review: null, model: null });
});

/** Begins the recap of a week that has none, again if it was lost. @returns Whether the week had a signal. */
export async function recapWeek(ctx: MutationCtx): Promise<boolean> {
  const week = weekDueAt(Date.now());
  const { wins, losses, expired, pending } = await figuresOf(ctx, week);
  if (wins + losses + expired + pending === 0) return false;
  if ((await recapOf(ctx, "week", week)) === null)
    await ctx.scheduler.runAfter(0, internal.signals.actions.reviewWeek, { week });
  return true;
}

export const ofWeek = internalQuery({
  args: { week: v.string() },
  returns: vWeek,
  handler: async (ctx, { week }) => figuresOf(ctx, week),
});

const vReview = v.union(v.string(), v.null());

/** Stores the recap and sends its card, once, in one transaction; `null` if no model has reviewed it. */
export const storeWeek = change({ week: v.string(), review: vReview, model: vReview }, finish);

async function finish(
  ctx: MutationCtx,
  { week, ...written }: { week: string; review: string | null; model: string | null },
): Promise<void> {
  if ((await recapOf(ctx, "week", week)) !== null) return;
  const figures = await figuresOf(ctx, week);
  const recap = { period: "week", of: week, figures, ...written, generatedAt: Date.now() } as const;
  await ctx.db.insert("recaps", recap);
  const [whole, head] = [await recordFor(ctx, "ALL"), await publishedHead(ctx)];
  await enqueueServiceCard(ctx, {
    kind: "weekly recap",
    paragraphs: weekCard(week, figures, { review: written.review, whole, head }),
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
