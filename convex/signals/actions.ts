import { v, type Infer } from "convex/values";
import { internal } from "../_generated/api";
import type { Id } from "../_generated/dataModel";
import type { ActionCtx } from "../_generated/server";
import type { BillingSubject } from "../platform/limits/callers";
import { getSetting } from "../lib/env";
import { AppError } from "../lib/errors";
import { orNullIfDown } from "../lib/log";
import { deadlines } from "../platform/outside/deadlines";
import { defineProviderAction } from "../platform/outside/calls";
import { limitSourceRate } from "../providers/data/publicData";
import { defineRefresh } from "../platform/refreshes";
import { HOUR, MINUTE, SECOND } from "../lib/time";
import { defineWorker } from "../platform/worker";
import { getLivePrice } from "../market/live";
import { askCandles } from "../providers/data/coinbase";
import { askPerpetuals } from "../providers/data/hyperliquid";
import { UnusableAnswer } from "../providers/models/gateway";
import { completeStructured } from "../providers/models/structure";
import { getServiceAddress } from "../wallets/custody/signatures";
import { executeOrder } from "../wallets/orders/execution";
import type { IssueTask } from "./issue";
import {
  PROMPT_VERSION,
  buildReviewIndex,
  buildReviewQuestion,
  resolveReasoning,
  resolveReview,
  buildSignalQuestion,
  type MarketContext,
  type Reviewed,
} from "./prompts";
import { computeTotals } from "./record";
import {
  listDaysOfWeek,
  enterProposal,
  PROMPT_HOURS,
  findProposalProblems,
  findShortfall,
  SIGNAL_TOKENS,
  type Stated,
  type Token,
} from "./rules";
import type { vAnswer } from "./tables";
import { computeOutcome } from "./tracker";

/** The room's calls to providers: a model for signals and reviews, exchanges for prices, the chain for anchors. */

/** The greatest age of the price at which a trade is entered. */
const PRICE_AGE_MS = 15 * SECOND;

/** Requests the missing signals of a day, and stores them together. */
export const issue = defineWorker({ day: v.string() }, async (ctx, { day, job }) => {
  const tasks = await ctx.runQuery(internal.signals.issue.listTasks, { day });
  if (tasks.length === 0) return "over";
  const proposed = await Promise.allSettled(tasks.map((task) => propose(ctx, task)));
  const answers = proposed.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  const isOver = await ctx.runMutation(internal.signals.issue.storeSignals, { job, day, answers });
  if (isOver) return undefined;
  const failure = proposed.find((one) => one.status === "rejected");
  throw failure?.reason ?? new AppError("conflict", "The day ended before its signals were issued");
});

/**
 * A model's signal at a measured price, or the problem of a proposal that may not be issued.
 * @throws AppError `upstream`, also if the price moved while the model answered.
 */
async function propose(ctx: ActionCtx, task: IssueTask): Promise<Infer<typeof vAnswer>> {
  const { token } = task;
  const costBps = Number(getSetting("ROUND_TRIP_COST_BPS"));
  const priceNow = () => getLivePrice(ctx, token, Date.now() - PRICE_AGE_MS);
  // The levels are checked against this price: the model's own would prove nothing.
  const price = await priceNow();
  const context = { ...task, ...(await readMarketContext(ctx, token)), nowMs: Date.now(), price, costBps };
  const market = { priceUsd: price.priceUsd, costBps };
  const question = {
    ...buildSignalQuestion(context),
    demands: (given: Stated) => findProposalProblems(given, market) ?? findShortfall(given, market),
    // A proposal that is still below its break-even is issued as a HOLD.
    mend: <Given extends Stated>(given: Given) =>
      findProposalProblems(given, market) === null ? given : null,
  };
  const options = { timeoutMs: deadlines.llmScheduled, attempts: 2, billTo: "service" as const };
  try {
    const { value: proposal, model } = await completeStructured(ctx, question, options);
    const { priceUsd, source, observedAt } = await priceNow();
    const problem = findProposalProblems(proposal, { priceUsd, costBps });
    if (problem !== null)
      throw new AppError("upstream", `The price moved while the model answered: ${problem}`);
    const reasoning = resolveReasoning(proposal, context);
    return {
      ...enterProposal({ ...proposal, reasoning }, { priceUsd, costBps }),
      token,
      model,
      promptVersion: PROMPT_VERSION,
      price: { usd: priceUsd, source, observedAt },
      costBps,
    };
  } catch (error) {
    if (error instanceof UnusableAnswer) return { token, refused: error.problem };
    throw error;
  }
}

/** The market of the last hours, from the exchanges that answer. */
async function readMarketContext(ctx: ActionCtx, token: Token): Promise<MarketContext> {
  const to = Math.floor(Date.now() / HOUR) * HOUR;
  const range = { step: HOUR, from: to - PROMPT_HOURS * HOUR, to } as const;
  const [candles, perpetuals] = await Promise.all([
    orNullIfDown(
      askCandles(limitSourceRate(ctx), token, range, deadlines.publicData),
      "signals.context is incomplete",
    ),
    orNullIfDown(askPerpetuals(limitSourceRate(ctx), deadlines.publicData), "signals.context is incomplete"),
  ]);
  const perpetual = perpetuals?.find(({ symbol }) => symbol === token);
  const funding =
    perpetual === undefined
      ? null
      : { percent: perpetual.fundingPercent, openInterestUsd: perpetual.openInterest };
  return { hours: candles ?? [], funding };
}

/** Reads the price path of each open signal, and closes the signals that have ended. */
export const trackSignals = defineProviderAction({}, async (ctx) => {
  for (const { id, signal } of await ctx.runQuery(internal.signals.tracker.listOpenSignals, {})) {
    const from = Math.floor(signal.generatedAt / MINUTE) * MINUTE;
    const range = { step: MINUTE, from, to: signal.expiresAt + 1 } as const;
    const asking = askCandles(limitSourceRate(ctx), signal.token, range, deadlines.publicData);
    const candles = (await orNullIfDown(asking, "signals.no candles")) ?? [];
    const outcome = computeOutcome(signal, candles, Date.now());
    if (outcome !== null) await ctx.runMutation(internal.signals.tracker.close, { id, outcome });
  }
});

/** Writes the review of a day. */
export const reviewDay = defineRefresh({ day: v.string() }, async (ctx, { day, billTo }): Promise<string> => {
  const { signals } = await ctx.runQuery(internal.signals.history.getDay, { day });
  const reviewed = signals.map((one) => ({ name: one.token, one }));
  const about = { occasion: `Review of the day ${day} (UTC).`, reviewed };
  return (await review(ctx, about, billTo)).review;
});

/** Writes the review of a week; if the model fails, its recap is sent without a review. */
export const reviewWeek = defineProviderAction({ week: v.string() }, async (ctx, { week }) => {
  const signals = await ctx.runQuery(internal.signals.history.getWeek, { week });
  const of = (name: string) => signals.find((one) => `${one.token} ${one.day}` === name) ?? null;
  const names = listDaysOfWeek(week).flatMap((day) => SIGNAL_TOKENS.map((token) => `${token} ${day}`));
  const reviewed = names.map((name) => ({ name, one: of(name) }));
  const about = { occasion: `Review of the week from Monday ${week} (UTC).`, reviewed };
  const written = await orNullIfDown(review(ctx, about, "service"), "signals.week is not reviewed");
  const none = { review: null, model: null };
  await ctx.runMutation(internal.signals.history.storeWeek, { week, ...(written ?? none) });
});

async function review(
  ctx: ActionCtx,
  { occasion, reviewed }: { occasion: string; reviewed: Reviewed },
  billTo: BillingSubject,
): Promise<{ review: string; model: string }> {
  const totals = computeTotals(reviewed.flatMap(({ one }) => one ?? []));
  const now = Date.now();
  const index = buildReviewIndex(reviewed, totals, now);
  const question = buildReviewQuestion(occasion, index, now);
  const options = { timeoutMs: deadlines.llmScheduled, attempts: 2, billTo };
  const { value, model } = await completeStructured(ctx, question, options);
  return { review: resolveReview(value.review, index, totals), model };
}

/** Signs and sends an anchor of the chain's head, if one is due. After a failure the cron tries again within the hour. */
export const anchor = defineProviderAction({}, async (ctx) => {
  await orNullIfDown(sendAnchor(ctx), "signals.not anchored", "error");
});

async function sendAnchor(ctx: ActionCtx): Promise<void> {
  const address = getServiceAddress("anchor");
  if (address === null) return;
  const opening = ctx.runMutation(internal.signals.chain.openAnchor, { address });
  const orderId: Id<"orders"> | null = await opening;
  if (orderId === null) return;
  const { state, error } = await executeOrder(ctx, orderId, deadlines.transaction);
  if (state === "failed") throw new AppError("upstream", error ?? `The anchor ${address} was not sent`);
}
