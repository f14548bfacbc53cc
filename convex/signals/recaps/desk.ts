import { v } from "convex/values";
import { internal } from "../../_generated/api";
import type { ActionCtx } from "../../_generated/server";
import type { Ledger } from "../../evidence/text/sources";
import type { Payer } from "../../lib/budget/classes";
import { deadlines } from "../../lib/outside/deadlines";
import { vTurn } from "../../lib/renewals";
import { MINUTE } from "../../lib/time";
import { worker } from "../../lib/work/desk";
import { completeStructured } from "../../providers/models/structure";
import { outcomesKey } from "../record/model";
import { dayLedger, reviewProblem, settledReview, weekLedger } from "../desk/ledgers";
import { reviewQuestion } from "../desk/prompts";
import { standingOf } from "../statistics/standings";
import type { Standing } from "../statistics/shapes";

/** Two calls of a minute in all, and a margin. */
const LEASE_MS = 2.5 * MINUTE;

/** Writes the review of a day and stores it, or why there is none. */
export const reviewDay = worker(
  { day: v.string(), ...vTurn },
  async (ctx, { day, key, attempt, payer, job }) => {
    const taken = { key, attempt, leaseMs: LEASE_MS };
    if (!(await ctx.runMutation(internal.lib.refreshes.take, taken))) return "over";
    const { signals } = await ctx.runQuery(internal.signals.recaps.reviews.ofDay, { day });
    const standing = standingOf(signals);
    const ledger = dayLedger(signals, standing, Date.now());
    const about = { occasion: `Review of the day ${day} (UTC).`, ledger, standing };
    const written = { outcomes: outcomesKey(signals), ...(await review(ctx, about, payer)) };
    const of = { key, attempt, job };
    await ctx.runMutation(internal.signals.recaps.reviews.store, { of, day, ...written });
  },
);

export const reviewWeek = worker({ recapId: v.id("weeklyRecaps") }, async (ctx, { recapId, job }) => {
  const task = await ctx.runQuery(internal.signals.recaps.weeks.task, { recapId });
  if (task === null) return "over";
  const { week, figures: standing } = task;
  const ledger = weekLedger(standing, Date.now());
  const about = { occasion: `Review of the week from Monday ${week} (UTC).`, ledger, standing };
  const written = await review(ctx, about, "service");
  await ctx.runMutation(internal.signals.recaps.weeks.store, { recapId, job, written });
});

async function review(
  ctx: ActionCtx,
  { occasion, ledger, standing }: { occasion: string; ledger: Ledger; standing: Standing },
  payer: Payer,
): Promise<{ review: string; model: string }> {
  const question = reviewQuestion(occasion, ledger, reviewProblem);
  const patience = { turnMs: deadlines.llmScheduled, attempts: 2, payer };
  const { value, model } = await completeStructured(ctx, question, patience);
  return { review: settledReview(value.review, ledger, standing), model };
}
