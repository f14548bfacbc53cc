import { v } from "convex/values";
import { omit } from "convex-helpers";
import { getOneFrom } from "convex-helpers/server/relationships";
import { internal } from "../_generated/api";
import type { Doc, Id } from "../_generated/dataModel";
import { internalMutation, internalQuery, type MutationCtx, type QueryCtx } from "../_generated/server";
import { cron } from "../lib/cronRuns";
import { deadlines } from "../lib/deadlines";
import { enter, telling, vFailure } from "../lib/lanes";
import { providerAction } from "../lib/providerCalls";
import { enqueueServiceCard } from "../messenger/notices";
import { completeStructured } from "../providers/structured";
import { daysOfWeek, weekDueAt } from "./calendar";
import { weekCard } from "./cards";
import { weekDrawn } from "./drawn";
import { chainHeadOf, findSignal, totalsOf } from "./model";
import { reviewProblem, settledReview, weekLedger } from "./grounding";
import { reviewQuestion } from "./prompts";
import { rounded } from "./ratios";
import { resultsOf, standingOf } from "./standing";
import { statisticsOf } from "./statistics";
import { vWeek, type Week, type WeekSignal } from "./tables";

/** After 1, 4 and 9 minutes; then the recap goes out without a review. */
const ATTEMPTS = 4;

/**
 * The weekly job: opens the recap of the latest week that is due, once, however often it runs; run late, on Monday or
 * after, it still opens that of the week before. The figures are those of this moment.
 */
export const openDue = cron("recap the week's signals", async (ctx) => {
  const now = Date.now();
  const week = weekDueAt(now);
  const existing = await getOneFrom(ctx.db, "weeklyRecaps", "by_week", week);
  if (existing !== null) return;
  const figures = await figuresOf(ctx, week);
  const recapId = await ctx.db.insert("weeklyRecaps", {
    week,
    state: "writing",
    attempt: 1,
    openedAt: now,
    ...figures,
  });
  if (hasSignals(figures)) {
    const told = telling(internal.signals.weeks.failed, { recapId });
    const place = { lane: "service" as const, owner: "weekly recaps", request: false };
    await enter(ctx, place, internal.signals.weeks.write, { recapId }, { attempts: ATTEMPTS, told });
  } else await finish(ctx, recapId, null);
});

/** Writes the week's review. */
export const write = providerAction({
  args: { recapId: v.id("weeklyRecaps") },
  returns: v.null(),
  handler: async (ctx, { recapId }) => {
    const task = await ctx.runQuery(internal.signals.weeks.task, { recapId });
    if (task === null) return null;
    const ledger = weekLedger(task.figures, Date.now());
    const question = reviewQuestion(
      `Review of the week from Monday ${task.week} (UTC).`,
      ledger,
      reviewProblem,
    );
    const { value, model } = await completeStructured(ctx, question, {
      turnMs: deadlines.llmScheduled,
      attempts: 2,
      payer: "service",
    });
    const written = { review: settledReview(value.review, ledger, task.figures), model };
    await ctx.runMutation(internal.signals.weeks.store, { recapId, written });
    return null;
  },
});

/** What the review is about; `null` when it is written. */
export const task = internalQuery({
  args: { recapId: v.id("weeklyRecaps") },
  returns: v.union(v.object({ week: v.string(), figures: vWeek }), v.null()),
  handler: async (ctx, { recapId }) => {
    const recap = await writing(ctx, recapId);
    return recap === null ? null : { week: recap.week, figures: figuresIn(recap) };
  },
});

export const store = internalMutation({
  args: { recapId: v.id("weeklyRecaps"), written: v.object({ review: v.string(), model: v.string() }) },
  returns: v.null(),
  handler: async (ctx, { recapId, written }) => {
    if ((await writing(ctx, recapId)) !== null) await finish(ctx, recapId, written);
    return null;
  },
});

export const failed = internalMutation({
  args: { recapId: v.id("weeklyRecaps"), ...vFailure },
  returns: v.null(),
  handler: async (ctx, { recapId, isLast }) => {
    const recap = await writing(ctx, recapId);
    if (recap === null) return null;
    if (isLast) await finish(ctx, recapId, null);
    else await ctx.db.patch("weeklyRecaps", recapId, { attempt: recap.attempt + 1 });
    return null;
  },
});

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
    averagePnlPercent: results.length === 0 ? null : rounded(sum / results.length, 6),
    bestPnlPercent: results.length === 0 ? null : Math.max(...results),
    worstPnlPercent: results.length === 0 ? null : Math.min(...results),
  };
}

function inWeek(row: Doc<"signals"> | null): WeekSignal | null {
  if (row === null) return null;
  const { signal, entry, confidence, status, pnlPercent } = row;
  return { signal, entry, confidence, status, pnlPercent: pnlPercent ?? null };
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
