import { v } from "convex/values";
import { internal } from "../_generated/api";
import type { Doc, Id } from "../_generated/dataModel";
import { internalMutation, type MutationCtx, type QueryCtx } from "../_generated/server";
import { recordCronRun } from "../lib/cronRuns";
import { deadlines } from "../lib/deadlines";
import { messageOf } from "../lib/errors";
import { log } from "../lib/log";
import { enterLater } from "../lib/lanes";
import { providerAction } from "../lib/providerCalls";
import { MINUTE } from "../lib/time";
import { enqueueServiceCard } from "../messenger/notices";
import { completeStructured } from "../providers/structured";
import { daysOfWeek, weekDueAt } from "./calendar";
import { weekCard } from "./cards";
import { weekDrawn } from "./drawn";
import { chainHeadOf, findSignal, totalsOf } from "./model";
import { weekReviewQuestion } from "./prompts";
import type { Token } from "./rules";
import { resultsOf, standingOf } from "./standing";
import { statisticsOf } from "./statistics";
import { vWeek, type Week, type WeekSignal } from "./tables";

/** How long an attempt may take once it has begun: two calls of a minute in all, and a margin. */
const LEASE_MS = 3 * MINUTE;
const QUEUE_MS = 60 * MINUTE;
/** After 1, 4 and 9 minutes; then the recap goes out without a review. */
const ATTEMPTS = 4;

/**
 * The weekly job: opens the recap of the latest week that is due, once, however often it runs; run late, on Monday or
 * after, it still opens that of the week before. The figures are those of this moment.
 */
export const openDue = internalMutation({
  args: {},
  returns: v.null(),
  handler: async (ctx) => {
    await recordCronRun(ctx, "recap the week's signals");
    const now = Date.now();
    const week = weekDueAt(now);
    const existing = await ctx.db
      .query("weeklyRecaps")
      .withIndex("by_week", (q) => q.eq("week", week))
      .unique();
    if (existing !== null) return null;
    const figures = await figuresOf(ctx, week);
    const recapId = await ctx.db.insert("weeklyRecaps", {
      week,
      state: "writing",
      attempt: 1,
      leaseUntil: now + QUEUE_MS,
      openedAt: now,
      ...figures,
    });
    if (hasSignals(figures)) await enqueue(ctx, recapId, 1);
    else await finish(ctx, recapId, null);
    return null;
  },
});

/** Resumes recaps whose attempt was cut off. For the cron. */
export const resumeLost = internalMutation({
  args: {},
  returns: v.null(),
  handler: async (ctx) => {
    await recordCronRun(ctx, "resume interrupted weekly recaps");
    const lost = await ctx.db
      .query("weeklyRecaps")
      .withIndex("by_state_and_leaseUntil", (q) => q.eq("state", "writing").lt("leaseUntil", Date.now()))
      .take(20);
    for (const recap of lost) await retryOrFinish(ctx, recap, 0);
    return null;
  },
});

/** Writes the week's review. */
export const write = providerAction({
  args: { recapId: v.id("weeklyRecaps"), attempt: v.number() },
  returns: v.null(),
  handler: async (ctx, { recapId, attempt }) => {
    const task = await ctx.runMutation(internal.signals.weeks.beginAttempt, { recapId, attempt });
    if (task === null) return null;
    try {
      const { value, model } = await completeStructured(ctx, weekReviewQuestion(task.week, task.figures), {
        turnMs: deadlines.llmScheduled,
        attempts: 2,
        payer: "service",
      });
      const written = { review: value.review, model };
      await ctx.runMutation(internal.signals.weeks.store, { recapId, attempt, written });
    } catch (error) {
      log.warn("signals.week's review failed", { week: task.week, attempt, error: messageOf(error) });
      await ctx.runMutation(internal.signals.weeks.fail, { recapId, attempt });
    }
    return null;
  },
});

/** Begins an attempt's lease; returns what the review is about, `null` when it was overtaken. */
export const beginAttempt = internalMutation({
  args: { recapId: v.id("weeklyRecaps"), attempt: v.number() },
  returns: v.union(v.object({ week: v.string(), figures: vWeek }), v.null()),
  handler: async (ctx, { recapId, attempt }) => {
    const recap = await writing(ctx, recapId, attempt);
    if (recap === null) return null;
    await ctx.db.patch("weeklyRecaps", recapId, { leaseUntil: Date.now() + LEASE_MS });
    return { week: recap.week, figures: figuresIn(recap) };
  },
});

export const store = internalMutation({
  args: {
    recapId: v.id("weeklyRecaps"),
    attempt: v.number(),
    written: v.object({ review: v.string(), model: v.string() }),
  },
  returns: v.null(),
  handler: async (ctx, { recapId, attempt, written }) => {
    if ((await writing(ctx, recapId, attempt)) !== null) await finish(ctx, recapId, written);
    return null;
  },
});

export const fail = internalMutation({
  args: { recapId: v.id("weeklyRecaps"), attempt: v.number() },
  returns: v.null(),
  handler: async (ctx, { recapId, attempt }) => {
    const recap = await writing(ctx, recapId, attempt);
    if (recap !== null) await retryOrFinish(ctx, recap, attempt * attempt * MINUTE);
    return null;
  },
});

/** Another attempt after `delayMs`, or the recap without a review. */
async function retryOrFinish(ctx: MutationCtx, recap: Doc<"weeklyRecaps">, delayMs: number): Promise<void> {
  if (recap.attempt >= ATTEMPTS) return finish(ctx, recap._id, null);
  const attempt = recap.attempt + 1;
  const leaseUntil = Date.now() + delayMs + QUEUE_MS;
  await ctx.db.patch("weeklyRecaps", recap._id, { attempt, leaseUntil });
  await enqueue(ctx, recap._id, attempt, delayMs);
}

/** Ends the recap and sends its card, in one transaction. */
async function finish(
  ctx: MutationCtx,
  recapId: Id<"weeklyRecaps">,
  written: { review: string; model: string } | null,
): Promise<void> {
  const review = written?.review ?? null;
  await ctx.db.patch("weeklyRecaps", recapId, {
    state: "done",
    generatedAt: Date.now(),
    review,
    ...(written === null ? {} : { model: written.model }),
  });
  const recap = await ctx.db.get("weeklyRecaps", recapId);
  if (recap === null) throw new Error("The row was just written");
  const { edge } = statisticsOf(await totalsOf(ctx, "ALL"));
  const paragraphs = weekCard(recap.week, figuresIn(recap), { review, edge, head: await chainHeadOf(ctx) });
  const picture = await weekDrawn(recap.week);
  await enqueueServiceCard(ctx, { kind: "weekly recap", paragraphs, picture });
}

async function figuresOf(ctx: QueryCtx, week: string): Promise<Week> {
  const days = await Promise.all(
    daysOfWeek(week).map(async (day) => {
      const [btc, eth] = await Promise.all([findSignal(ctx, "BTC", day), findSignal(ctx, "ETH", day)]);
      return { day, signals: { BTC: btc, ETH: eth } };
    }),
  );
  const signals = days.flatMap(({ signals: { BTC, ETH } }) => [BTC, ETH]).filter((row) => row !== null);
  const results = resultsOf(signals);
  const sum = results.reduce((total, pnl) => total + pnl, 0);
  return {
    days: Object.fromEntries(
      days.map(({ day, signals }) => [day, { BTC: inWeek(signals.BTC), ETH: inWeek(signals.ETH) }]),
    ),
    ...standingOf(signals),
    averagePnlPercent: results.length === 0 ? null : Number((sum / results.length).toFixed(6)) + 0,
    bestPnlPercent: results.length === 0 ? null : Math.max(...results),
    worstPnlPercent: results.length === 0 ? null : Math.min(...results),
  };
}

function inWeek(row: Doc<"signals"> | null): WeekSignal | null {
  if (row === null) return null;
  const { signal, entry, confidence, status, pnlPercent } = row;
  return { signal, entry, confidence, status, pnlPercent: pnlPercent ?? null };
}

function hasSignals({ days }: Week): boolean {
  const held = (token: Token) => Object.values(days).some((day) => day[token] !== null);
  return held("BTC") || held("ETH");
}

/** The figures of a stored recap, without the row's other fields. */
function figuresIn(recap: Doc<"weeklyRecaps">): Week {
  const { days, wins, losses, expired, pending, winrate, totalPnlPercent } = recap;
  const { trades, totalAfterCostsPercent, excessPoints } = recap;
  const { averagePnlPercent, bestPnlPercent, worstPnlPercent } = recap;
  return {
    days,
    wins,
    losses,
    expired,
    pending,
    winrate,
    trades,
    totalPnlPercent,
    totalAfterCostsPercent,
    excessPoints,
    averagePnlPercent,
    bestPnlPercent,
    worstPnlPercent,
  };
}

async function writing(ctx: QueryCtx, recapId: Id<"weeklyRecaps">, attempt: number) {
  const recap = await ctx.db.get("weeklyRecaps", recapId);
  return recap !== null && recap.state === "writing" && recap.attempt === attempt ? recap : null;
}

async function enqueue(ctx: MutationCtx, recapId: Id<"weeklyRecaps">, attempt: number, delayMs = 0) {
  const place = { lane: "service" as const, owner: "weekly recaps" };
  await enterLater(ctx, place, internal.signals.weeks.write, { recapId, attempt }, delayMs);
}
