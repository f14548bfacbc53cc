import { v } from "convex/values";
import { internal } from "../_generated/api";
import type { Id } from "../_generated/dataModel";
import type { ActionCtx } from "../_generated/server";
import type { Payer } from "../lib/limits/callers";
import { setting } from "../lib/env";
import { AppError, failureOf } from "../lib/errors";
import { log } from "../lib/log";
import { deadlines } from "../lib/outside/deadlines";
import { providerAction } from "../lib/outside/providerCalls";
import { vRefresh } from "../lib/cache";
import { HOUR, MINUTE, roundedNow, SECOND } from "../lib/time";
import { worker } from "../lib/work/desk";
import { livePrice } from "../market/live";
import { askCandles, askDay, type Candle } from "../providers/data/coinbase";
import { askPerpetuals } from "../providers/data/hyperliquid";
import { UnusableAnswer } from "../providers/models/gateway";
import { completeStructured } from "../providers/models/structure";
import { serviceAddress } from "../wallets/custody/signatures";
import { carry } from "../wallets/orders/desk";
import { anchorData } from "./chain";
import type { Task } from "./issue";
import { reviewLedger, reviewProblem, settledReasoning, settledReview, type Reviewed } from "./ledgers";
import { outcomesKey, standingOf } from "./model";
import { assembled, point } from "./path";
import { PROMPT_VERSION, reviewQuestion, signalQuestion, type Hour, type MarketContext } from "./prompts";
import { daysOfWeek, entered, HOURS, problemsOf, shortfallOf, TOKENS, type Token } from "./rules";
import type { Head, Standing, Stretch } from "./tables";

/** What the room asks the outside: a model for signals and reviews, exchanges for prices, the chain for anchors. */

/** A trade is not entered at a price that is older. */
const PRICE_AGE_MS = 15 * SECOND;

/** Asks for the signals of a day that are still to be issued, and stores them together. */
export const issue = worker({ day: v.string() }, async (ctx, { day, job }) => {
  const tasks = await ctx.runQuery(internal.signals.issue.tasks, { day, now: roundedNow() });
  if (tasks.length === 0) return "over";
  const answers = await Promise.allSettled(tasks.map((task) => propose(ctx, task)));
  const issued = answers.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  const refused = answers.flatMap((one, index) => {
    const token = tasks[index]?.token;
    return one.status === "rejected" && one.reason instanceof UnusableAnswer && token !== undefined
      ? [{ token, detail: one.reason.problem }]
      : [];
  });
  const isOver = await ctx.runMutation(internal.signals.issue.store, { job, day, issued, refused });
  if (isOver) return undefined;
  const failure = answers.find((one) => one.status === "rejected" && !(one.reason instanceof UnusableAnswer));
  throw failure?.status === "rejected" ? failure.reason : new AppError("conflict", "The day is over");
});

/**
 * A model's signal at a measured price.
 * @throws AppError `upstream`; `UnusableAnswer` if the model proposes nothing that may be issued.
 */
async function propose(ctx: ActionCtx, task: Task) {
  const { token } = task;
  const costBps = Number(setting("ROUND_TRIP_COST_BPS"));
  const priceNow = () => livePrice(ctx, token, Date.now() - PRICE_AGE_MS);
  // The levels are checked against this price; checking the model against itself would check nothing.
  const before = await priceNow();
  const context = {
    ...task,
    ...(await marketContext(ctx, task)),
    nowMs: Date.now(),
    price: before,
    costBps,
  };
  const market = { priceUsd: before.priceUsd, costBps };
  const question = {
    ...signalQuestion(context),
    demands: (proposal: Parameters<typeof problemsOf>[0]) =>
      problemsOf(proposal, market) ?? shortfallOf(proposal, market),
    // What is still below its break-even is issued as a HOLD.
    mend: <Given extends Parameters<typeof problemsOf>[0]>(proposal: Given) =>
      problemsOf(proposal, market) === null ? proposal : null,
  };
  const patience = { turnMs: deadlines.llmScheduled, attempts: 2, payer: "service" as const };
  const { value: proposal, model } = await completeStructured(ctx, question, patience);
  const { priceUsd, source, observedAt } = await priceNow();
  const problem = problemsOf(proposal, { priceUsd, costBps });
  if (problem !== null) {
    throw new AppError("upstream", `The price moved while the model answered: ${problem}`);
  }
  const reasoning = settledReasoning(proposal, context);
  return {
    ...entered({ ...proposal, reasoning }, { priceUsd, costBps }),
    token,
    model,
    promptVersion: PROMPT_VERSION,
    price: { usd: priceUsd, source, observedAt },
    costBps,
  };
}

/** The market of the last hours; the service's own hourly closes stand in for hours that no exchange has. */
async function marketContext(ctx: ActionCtx, { token, closes }: Task): Promise<MarketContext> {
  const to = Math.floor(Date.now() / HOUR) * HOUR;
  const range = { interval: "hour", from: to - HOURS * HOUR, to } as const;
  const [candles, day, perpetuals] = await Promise.all([
    reached(askCandles(ctx, token, range, deadlines.publicData), "signals.context is incomplete"),
    reached(askDay(ctx, token, deadlines.publicData), "signals.context is incomplete"),
    reached(askPerpetuals(ctx, deadlines.publicData), "signals.context is incomplete"),
  ]);
  const traded = (candles ?? []).map(({ openedAt, close, low, high, volume }): Hour => {
    return { endsAt: openedAt + HOUR, close, source: "coinbase", range: { low, high, volume } };
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
    hours: [...traded, ...own].toSorted((a, b) => a.endsAt - b.endsAt),
    day: day === null ? null : { ...day, source: "coinbase" },
    funding:
      perpetual === undefined
        ? null
        : { percent: perpetual.fundingPercent, openInterestUsd: perpetual.openInterest },
  };
}

/** The answer of a provider; `null` if it cannot be reached, which is logged for the operator. */
async function reached<Value>(asking: Promise<Value>, event: string): Promise<Value | null> {
  try {
    return await asking;
  } catch (error) {
    const failure = failureOf(error);
    if (failure === null) throw error;
    log.warn(event, { reason: failure.message });
    return null;
  }
}

/** Looks at the price of each token with open signals, and at its path since the last look. */
export const look = providerAction({}, async (ctx) => {
  for (const { token, signalIds, from, to } of await ctx.runQuery(internal.signals.tracker.open, {})) {
    // A measurement is stored, so that it is among the samples, at this look and at later ones.
    await reached(livePrice(ctx, token), "signals.no measured price");
    const seen = await pathOf(ctx, token, { from, to: Math.min(to, Date.now()) });
    await ctx.runMutation(internal.signals.tracker.settle, { signalIds, seen });
  }
});

/** The known path of a price: one-minute candles of the exchange, in order, and the service's own samples in their gaps. */
async function pathOf(ctx: ActionCtx, token: Token, span: { from: number; to: number }): Promise<Stretch[]> {
  const from = Math.floor(span.from / MINUTE) * MINUTE;
  const range = { interval: "minute", from, to: span.to + 1 } as const;
  const asking = askCandles(ctx, token, range, deadlines.publicData);
  const candles = ((await reached(asking, "signals.no candles")) ?? []).map(stretchOf);
  const samples = await ctx.runQuery(internal.market.samples.between, { token, ...span });
  return assembled(
    candles,
    samples.map(({ observedAt, priceUsd }) => point(observedAt, priceUsd, "sample")),
  );
}

function stretchOf({ openedAt, open, high, low, close }: Candle): Stretch {
  return { from: openedAt, to: openedAt + MINUTE, open, high, low, close, by: "candle" };
}

/** Two calls of a minute in all, and a margin. */
const LEASE_MS = 2.5 * MINUTE;

/** Writes the review of a day. */
export const reviewDay = worker(
  { day: v.string(), ...vRefresh },
  async (ctx, { day, key, attempt, payer, job }) => {
    const taken = { key, attempt, leaseMs: LEASE_MS };
    if (!(await ctx.runMutation(internal.lib.cache.take, taken))) return "over";
    const { signals } = await ctx.runQuery(internal.signals.recaps.ofDay, { day });
    const reviewed = signals.map((one) => ({ name: one.token, one }));
    const about = { occasion: `Review of the day ${day} (UTC).`, standing: standingOf(signals), reviewed };
    const written = { outcomes: outcomesKey(signals), ...(await review(ctx, about, payer)) };
    await ctx.runMutation(internal.signals.recaps.store, { of: { key, attempt, job }, day, ...written });
  },
);

/** Writes the review of a week. */
export const reviewWeek = worker({ week: v.string() }, async (ctx, { week, job }) => {
  const figures = await ctx.runQuery(internal.signals.recaps.ofWeek, { week });
  const reviewed = daysOfWeek(week).flatMap((day) =>
    TOKENS.map((token) => ({ name: `${token} ${day}`, one: figures.days[day]?.[token] ?? null })),
  );
  const about = { occasion: `Review of the week from Monday ${week} (UTC).`, standing: figures, reviewed };
  const written = await review(ctx, about, "service");
  await ctx.runMutation(internal.signals.recaps.storeWeek, { week, job, written });
});

async function review(
  ctx: ActionCtx,
  { occasion, standing, reviewed }: { occasion: string; standing: Standing; reviewed: Reviewed },
  payer: Payer,
): Promise<{ review: string; model: string }> {
  const ledger = reviewLedger(reviewed, standing, Date.now());
  const question = reviewQuestion(occasion, ledger, reviewProblem);
  const patience = { turnMs: deadlines.llmScheduled, attempts: 2, payer };
  const { value, model } = await completeStructured(ctx, question, patience);
  return { review: settledReview(value.review, ledger, standing), model };
}

/** Signs and sends an anchor of the chain's head, if one is due. After a failure it is tried again an hour later. */
export const anchor = providerAction({}, async (ctx) => {
  try {
    const address = serviceAddress("anchor");
    if (address === null) return;
    const head: Head | null = await ctx.runQuery(internal.signals.anchors.due, {
      address,
      now: Date.now(),
    });
    if (head === null) return;
    const orderId: Id<"orders"> | null = await ctx.runMutation(internal.signals.anchors.store, {
      address,
      head,
      data: anchorData(head),
    });
    if (orderId === null) return;
    const { state, error } = await carry(ctx, orderId, deadlines.transaction);
    if (state === "failed") throw new AppError("upstream", error ?? `The anchor ${address} was not sent`);
  } catch (error) {
    const failure = failureOf(error);
    if (failure === null) throw error;
    log.error("signals.not anchored", { reason: failure.message });
  }
});
