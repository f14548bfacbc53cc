import { v, type Infer } from "convex/values";
import { internal } from "../../_generated/api";
import type { ActionCtx } from "../../_generated/server";
import { deadlines } from "../../lib/outside/deadlines";
import { setting } from "../../lib/env";
import { AppError, failureOf, messageOf } from "../../lib/errors";
import { HOUR, roundedNow, SECOND } from "../../lib/time";
import { worker } from "../../lib/work/desk";
import type { HourlyClose } from "../../prices/tables";
import { askForCandles, askForDay } from "../../providers/data/exchanges";
import { askPerpetuals } from "../../providers/data/hyperliquid";
import { UnusableAnswer } from "../../providers/models/gateway";
import { completeStructured } from "../../providers/models/structure";
import { ASKING_TERMS, HOURS } from "../arms/slots";
import { reached, priceSince } from "../outcomes/sight";
import type { Asking, vMissed } from "../record/rows";
import { dayAgo, momentumOf } from "../trade/controls";
import { problemsOf, volatilityOf, type LabToken } from "../trade/rules";
import { settledReasoning } from "./ledgers";
import { signalQuestion, type Hour, type MarketContext } from "./prompts";
import type { Task } from "./runs";

/** A trade is not entered at a price that is older. */
const PRICE_AGE_MS = 15 * SECOND;

/** Asks for a signal, and stores it or why there is none. */
export const write = worker({ runId: v.id("signalRuns") }, async (ctx, { runId, job }) => {
  const task = await ctx.runQuery(internal.signals.desk.runs.task, {
    runId,
    now: roundedNow(),
  });
  if (task === null) return "over";
  try {
    const proposed = await propose(ctx, task);
    await ctx.runMutation(internal.signals.desk.runs.store, { runId, job, ...proposed });
  } catch (error) {
    const end = endOf(task.desk, error);
    if (end === null) throw error;
    await ctx.runMutation(internal.signals.desk.runs.end, { runId, job, ...end });
  }
});

/**
 * A model's signal at a measured price.
 * @throws AppError `upstream`; `UnusableAnswer` if the model proposes nothing that may be issued.
 */
async function propose(ctx: ActionCtx, task: Task) {
  const { desk, token, promptVersion, since } = task;
  const costBps = Number(setting("ROUND_TRIP_COST_BPS"));
  const priceNow = () => priceSince(ctx, { desk, token }, Date.now() - PRICE_AGE_MS);
  // The levels are checked against this price; checking the model against itself would check nothing.
  const before = await priceNow();
  const market = await marketContext(ctx, token, task.closes);
  const context = { ...task, ...market, nowMs: Date.now(), price: before, costBps };
  const question = signalQuestion(promptVersion, context, (proposal) =>
    problemsOf(proposal, { priceUsd: before.priceUsd, costBps }),
  );
  const { turns: attempts, payer } = ASKING_TERMS[desk];
  const patience = { turnMs: deadlines.llmScheduled, attempts, payer, model: task.model ?? undefined };
  const { value: proposal, model } = await completeStructured(ctx, question, patience);
  const { priceUsd, source, observedAt } = await priceNow();
  const problem = problemsOf(proposal, { priceUsd, costBps });
  if (problem !== null) {
    throw new AppError("upstream", `The price moved while the model answered: ${problem}`);
  }
  return {
    ...{ model, promptVersion, since, costBps },
    proposal: { ...proposal, reasoning: settledReasoning(proposal, context) },
    price: { usd: priceUsd, source, observedAt },
    momentum: momentumOf(priceUsd, dayAgo(market.hours, Date.now())),
    ...volatilityOf(market.hours.map(({ close }) => close)),
    missingHours: Math.max(0, HOURS - market.hours.length),
  };
}

/** Why another attempt is useless; `null` if it may help. If the lab's share of the budget is spent, it stays spent. */
function endOf(desk: Asking, error: unknown): { reason: Infer<typeof vMissed>; error: string } | null {
  if (error instanceof UnusableAnswer) {
    return { reason: "refused", error: `The model's signal was refused: ${error.problem}` };
  }
  const isSpent = desk === "lab" && failureOf(error)?.code === "rate_limited";
  return isSpent ? { reason: "budget", error: messageOf(error) } : null;
}

/** @param closes The service's own hourly closes, for hours that no exchange has. */
async function marketContext(
  ctx: ActionCtx,
  token: LabToken,
  closes: readonly HourlyClose[],
): Promise<MarketContext> {
  const to = Math.floor(Date.now() / HOUR) * HOUR;
  const range = { interval: "hour", from: to - HOURS * HOUR, to } as const;
  const [candles, day, perpetuals] = await Promise.all([
    reached(askForCandles(ctx, token, range, deadlines.publicData), "signals.context is incomplete"),
    reached(askForDay(ctx, token, deadlines.publicData), "signals.context is incomplete"),
    reached(askPerpetuals(ctx, deadlines.publicData), "signals.context is incomplete"),
  ]);
  const traded = (candles?.value ?? []).map(({ openedAt, close, low, high, volume }): Hour => {
    return { endsAt: openedAt + HOUR, close, source: candles?.source ?? "", range: { low, high, volume } };
  });
  const own = closes
    .filter(
      ({ hourEndsAt }) => hourEndsAt > range.from && !traded.some(({ endsAt }) => endsAt === hourEndsAt),
    )
    .map(({ hourEndsAt, priceUsd, source }): Hour => {
      return { endsAt: hourEndsAt, close: priceUsd, source, range: null };
    });
  const perpetual = perpetuals?.find(({ symbol }) => symbol === token);
  return {
    hours: [...traded, ...own].sort((a, b) => a.endsAt - b.endsAt),
    day: day === null ? null : { ...day.value, source: day.source },
    funding:
      perpetual === undefined
        ? null
        : { percent: perpetual.fundingPercent, openInterestUsd: perpetual.openInterest },
  };
}
