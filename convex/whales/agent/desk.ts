import { v } from "convex/values";
import { isHash } from "viem";
import { internal } from "../../_generated/api";
import type { ActionCtx } from "../../_generated/server";
import { purseOf } from "../../lib/budget/purses";
import { AppError, failureOf, messageOf } from "../../lib/errors";
import { log } from "../../lib/log";
import { HOUR, MINUTE } from "../../lib/time";
import { worker } from "../../lib/work/desk";
import { cancelJob, readJob, sendPrompt } from "../../providers/agentApi";
import { readOutcomes, type Outcome } from "../../providers/chain/receipts";
import { worthOf } from "../chain/movements";
import { coinAt, isCoin } from "../coins";
import { feedPrices, priceIn, type Prices } from "../values";
import type { Checked } from "./checks";
import type { Poll, Look } from "./jobs";
import { WINDOW_HOURS } from "../kinds";
import { PROMPT, readAnswer } from "./prompts";

/** Calls to the agent, and to the chain about the agent's alerts. */

/** The agent is asked about these hours, and may be late. */
const OLDEST_MS = (WINDOW_HOURS + 1) * HOUR;
/** The largest difference between the agent's time of a movement and its block's. */
const TIME_MS = HOUR;
/** Clocks may differ a little. */
const SKEW_MS = 5 * MINUTE;
/** As a share of the larger amount: prices change between the movement, the report and the check. */
const AMOUNT = 0.1;
/** Takes one step of an hour's question: sends its prompt, once, or polls the job that this has started. */
export const look = worker({ watchId: v.id("whaleWatches") }, async (ctx, one) => {
  const step = await ctx.runMutation(internal.whales.agent.jobs.begin, one);
  if (step === null) return;
  if (step.kind === "prompt") await prompt(ctx, one);
  else await poll(ctx, one, step);
});

async function prompt(ctx: ActionCtx, one: Look): Promise<void> {
  const now = Date.now();
  try {
    const jobId = await sendPrompt(purseOf(ctx, "service"), PROMPT, now);
    await ctx.runMutation(internal.whales.agent.jobs.accepted, { ...one, jobId });
  } catch (error) {
    const wait = failureOf(error)?.retryAfterMs;
    await ctx.runMutation(internal.whales.agent.jobs.refused, {
      ...one,
      note: messageOf(error),
      ...(wait === undefined ? {} : { pausedUntil: now + wait }),
    });
  }
}

/** Polls a job once, and acts on its state. */
async function poll(ctx: ActionCtx, one: Look, { jobId, isTooOld }: Poll): Promise<void> {
  const fail = (note: string) => ctx.runMutation(internal.whales.agent.jobs.fail, { ...one, note });
  try {
    const job = await readJob(jobId, Date.now());
    if (job.state === "completed") {
      await ctx.runMutation(internal.whales.agent.jobs.finish, { ...one, ...readAnswer(job.response) });
    } else if (job.state !== "working") {
      await fail(FAILURES[job.state]);
    } else if (isTooOld) {
      await cancelJob(jobId, Date.now());
      await fail("The agent's job did not end in time and was cancelled");
    } else {
      await ctx.runMutation(internal.whales.agent.jobs.askAgain, one);
    }
  } catch (error) {
    const failure = failureOf(error);
    if (failure === null) log.error("whales.poll failed", { watchId: one.watchId, reason: messageOf(error) });
    if (isTooOld) {
      const reason = failure?.message ?? "Its answer could not be stored";
      await fail(`The agent's job did not end in time. ${reason}`);
    } else {
      const waitMs = failure?.retryAfterMs ?? 0;
      await ctx.runMutation(internal.whales.agent.jobs.askAgain, { ...one, waitMs });
    }
  }
}

const FAILURES = {
  failed: "The agent's job failed",
  cancelled: "The agent's job was cancelled",
  unknown: "The agent API no longer knows the job",
};

/** Asks the chain about the transactions that the alerts of an answer name; again later while it lacks one. */
export const check = worker({ alertIds: v.array(v.id("whaleAlerts")) }, async (ctx, { alertIds }) => {
  const alerts = await ctx.runQuery(internal.whales.agent.checks.unconfirmed, { alertIds });
  const wanted = alerts.flatMap((alert) =>
    alert.txHash !== undefined && isHash(alert.txHash) ? [{ alert, txHash: alert.txHash }] : [],
  );
  if (wanted.length === 0) return "over";
  const outcomes = await readOutcomes(wanted.map(({ txHash }) => txHash));
  const mined = wanted.flatMap(({ alert }, i) => {
    const outcome = outcomes[i] ?? null;
    return outcome === null || outcome === "too large" ? [] : [{ alert, outcome }];
  });
  const prices = mined.length === 0 ? null : await feedPrices();
  const agreed = mined.filter(({ alert, outcome }) => prices !== null && agrees(alert, outcome, prices));
  if (agreed.length > 0)
    await ctx.runMutation(internal.whales.agent.checks.confirm, {
      alertIds: agreed.map(({ alert }) => alert.alertId),
    });
  if (mined.length < wanted.length)
    throw new AppError("upstream", "The chain does not have every transaction that was reported");
  return "over";
});

/** Whether an agent's alert agrees with the chain: transaction, age, token and amount. */
function agrees(
  { token, amount, occurredAt, detectedAt }: Checked,
  outcome: Outcome,
  prices: Prices,
): boolean {
  const { time } = outcome.block;
  if (!outcome.succeeded || !isCoin(token)) return false;
  if (time < detectedAt - OLDEST_MS || time > detectedAt + SKEW_MS) return false;
  if (occurredAt !== undefined && Math.abs(time - occurredAt) > TIME_MS) return false;
  const moved =
    token === "ETH"
      ? [outcome.payment?.amount ?? 0n]
      : outcome.transfers.filter((one) => coinAt(one.token) === token).map((one) => one.amount);
  return moved.some((quantity) => {
    const worth = worthOf({ coin: token, amount: quantity }, priceIn(prices, token).usd);
    return Math.abs(worth - amount) <= AMOUNT * Math.max(worth, amount);
  });
}
