import { v } from "convex/values";
import { isHash } from "viem";
import { internal } from "../../_generated/api";
import { purseOf } from "../../lib/budget/purses";
import { failureOf, messageOf } from "../../lib/errors";
import { log } from "../../lib/log";
import { providerAction } from "../../lib/outside/providerCalls";
import { HOUR, MINUTE, SECOND, sleep } from "../../lib/time";
import { cancelJob, readJob, sendPrompt } from "../../providers/agentApi";
import { readOutcomes, type Outcome } from "../../providers/chain/receipts";
import { worthOf } from "../chain/movements";
import { CHAIN, coinAt, familyOf, isCoin } from "../coins";
import { WINDOW_HOURS } from "../kinds";
import type { Reported } from "../tables";
import { feedPrices, priceIn, type Prices } from "../values";
import { PROMPT, readAnswer } from "./prompts";

/** An hour's question to the agent, from its prompt to its alerts. */

/** A job that runs longer is cancelled; half a minute to two minutes is usual. */
const GIVE_UP_MS = 5 * MINUTE;
const FIRST_POLL_MS = 2 * SECOND;
const SLOWEST_POLL_MS = 20 * SECOND;
/** The agent is asked about these hours, and may be late. */
const OLDEST_MS = (WINDOW_HOURS + 1) * HOUR;
/** The largest difference between the agent's time of a movement and its block's. */
const TIME_MS = HOUR;
/** Clocks may differ a little. */
const SKEW_MS = 5 * MINUTE;
/** As a share of the larger amount: prices change between the movement, the report and the check. */
const AMOUNT = 0.1;

/** Sends the hour's only prompt, waits for its job, looks its transactions up once, and stores what it says. */
export const ask = providerAction({ watchId: v.id("whaleWatches") }, async (ctx, { watchId }) => {
  const nothing = { watchId, alerts: [], dropped: 0, isFailed: true };
  const now = Date.now();
  try {
    const jobId = await sendPrompt(purseOf("service"), PROMPT, now);
    const response = await answerOf(jobId);
    const { alerts, ...read } = readAnswer(response);
    const verified = await verifiedIn(alerts);
    const checked = alerts.map((alert, index) => ({ ...alert, verified: verified[index] === true }));
    await ctx.runMutation(internal.whales.agent.watches.finish, {
      watchId,
      alerts: checked,
      ...read,
      isFailed: false,
    });
  } catch (error) {
    const waitMs = failureOf(error)?.retryAfterMs;
    await ctx.runMutation(internal.whales.agent.watches.finish, {
      ...nothing,
      note: messageOf(error),
      ...(waitMs === undefined ? {} : { pausedUntil: now + waitMs }),
    });
  }
});

/** The response of a job. A poll that fails is repeated while there is time. @throws Error with the reason for the operator */
async function answerOf(jobId: string): Promise<string> {
  const end = Date.now() + GIVE_UP_MS;
  let trouble = "";
  for (let pause = FIRST_POLL_MS; Date.now() < end; pause = Math.min(1.5 * pause, SLOWEST_POLL_MS)) {
    await sleep(Math.min(pause, end - Date.now()));
    try {
      const job = await readJob(jobId, Date.now());
      trouble = "";
      if (job.state === "completed") return job.response;
      if (job.state !== "working") throw new Error(FAILURES[job.state]);
    } catch (error) {
      const failure = failureOf(error);
      if (failure === null) throw error;
      trouble = ` ${failure.message}`;
      if (failure.retryAfterMs !== undefined)
        await sleep(Math.min(failure.retryAfterMs, Math.max(0, end - Date.now())));
    }
  }
  if (trouble !== "") throw new Error(`The agent's job did not end in time.${trouble}`);
  await cancelJob(jobId, Date.now());
  throw new Error("The agent's job did not end in time and was cancelled");
}

const FAILURES = {
  failed: "The agent's job failed",
  cancelled: "The agent's job was cancelled",
  unknown: "The agent API no longer knows the job",
};

/** Which alerts the chain agrees with: the transactions that they name are looked up once. */
async function verifiedIn(alerts: readonly Reported[]): Promise<boolean[]> {
  const named = alerts.flatMap((alert, index) => {
    const { txHash = "", chain = CHAIN } = alert;
    return isHash(txHash) && chain === CHAIN ? [{ alert, index, txHash }] : [];
  });
  const verified = alerts.map(() => false);
  if (named.length === 0) return verified;
  try {
    const outcomes = await readOutcomes(named.map(({ txHash }) => txHash));
    if (outcomes.every((one) => one === null)) return verified;
    const prices = await feedPrices();
    for (const [place, { alert, index }] of named.entries()) {
      const outcome = outcomes[place] ?? null;
      if (outcome !== null && outcome !== "too large") verified[index] = agrees(alert, outcome, prices);
    }
  } catch (error) {
    const failure = failureOf(error);
    if (failure === null) throw error;
    log.warn("whales.unverified", { reason: failure.message });
  }
  return verified;
}

/** Whether an agent's alert agrees with the chain: transaction, age, coin and amount. */
function agrees({ token, amount, occurredAt }: Reported, outcome: Outcome, prices: Prices): boolean {
  const { time } = outcome.block;
  const now = Date.now();
  if (!outcome.succeeded || time < now - OLDEST_MS || time > now + SKEW_MS) return false;
  if (occurredAt !== undefined && Math.abs(time - occurredAt) > TIME_MS) return false;
  const moved = [
    { token: "ETH", amount: outcome.payment?.amount ?? 0n },
    ...outcome.transfers.map((one) => ({ token: coinAt(one.token) ?? "", amount: one.amount })),
  ];
  return moved.some(({ token: coin, amount: quantity }) => {
    if (!isCoin(coin) || familyOf(coin) !== familyOf(token)) return false;
    const worth = worthOf({ coin, amount: quantity }, priceIn(prices, coin).usd);
    return Math.abs(worth - amount) <= AMOUNT * Math.max(worth, amount);
  });
}
