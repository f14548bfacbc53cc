import { v } from "convex/values";
import { internal } from "../../_generated/api";
import type { ActionCtx } from "../../_generated/server";
import type { Ledger } from "../../evidence/facts";
import type { Payer } from "../../lib/budget";
import { deadlines } from "../../lib/deadlines";
import { providerAction } from "../../lib/providerCalls";
import { vTurn } from "../../lib/renewals";
import { MINUTE } from "../../lib/time";
import { completeStructured } from "../../providers/structured";
import { dayLedger, reviewProblem, settledReview, weekLedger } from "../desk/ledgers";
import { reviewQuestion } from "../desk/prompts";
import { standingOf } from "../statistics/figures";
import type { Standing } from "../statistics/shapes";
import { outcomesKey, refreshKey } from "./reviews";

/** Two calls of a minute in all, and a margin. */
const LEASE_MS = 2.5 * MINUTE;

/** Writes the review of a day and stores it, or why there is none. */
export const reviewDay = providerAction({
  args: { day: v.string(), ...vTurn },
  returns: v.null(),
  handler: async (ctx, { day, attempt, payer }) => {
    const taken = { key: refreshKey(day), attempt, leaseMs: LEASE_MS };
    if (!(await ctx.runMutation(internal.lib.refreshes.take, taken))) return null;
    const { signals } = await ctx.runQuery(internal.signals.recaps.reviews.ofDay, { day });
    const standing = standingOf(signals);
    const ledger = dayLedger(signals, standing, Date.now());
    const about = { occasion: `Review of the day ${day} (UTC).`, ledger, standing };
    const written = { outcomes: outcomesKey(signals), ...(await review(ctx, about, payer)) };
    await ctx.runMutation(internal.signals.recaps.reviews.store, { day, attempt, ...written });
    return null;
  },
});

/** Writes the review of a week. */
export const reviewWeek = providerAction({
  args: { recapId: v.id("weeklyRecaps") },
  returns: v.null(),
  handler: async (ctx, { recapId }) => {
    const task = await ctx.runQuery(internal.signals.recaps.weeks.task, { recapId });
    if (task === null) return null;
    const { week, figures: standing } = task;
    const ledger = weekLedger(standing, Date.now());
    const about = { occasion: `Review of the week from Monday ${week} (UTC).`, ledger, standing };
    const written = await review(ctx, about, "service");
    await ctx.runMutation(internal.signals.recaps.weeks.store, { recapId, written });
    return null;
  },
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
