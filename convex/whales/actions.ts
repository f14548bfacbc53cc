import { isHash } from "viem";
import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { AppError, getErrorData, getErrorMessage } from "../lib/errors";
import { deadlines } from "../platform/outside/deadlines";
import { log, orNullIfDown } from "../lib/log";
import { defineProviderAction, takeUsage } from "../platform/outside/calls";
import { HOUR, MINUTE, SECOND, sleep } from "../lib/time";
import { readFeeds } from "../market/live";
import { cancelJob, readJob, sendPrompt } from "../providers/agentApi";
import { readMovements, readSafeHead, type Moved } from "../providers/chain/blocks";
import { readTransaction, type Mined } from "../providers/chain/transactions";
import { UPSTREAM } from "../providers/chain/rpc";
import { CHAIN, findCoinByAddress, COINS, CONTRACTS, getFamily, isCoin } from "./coins";
import { vLastBlock } from "./alerts";
import type { VerifiedReport } from "./model";
import {
  listLargeMovements,
  measureTransaction,
  NATIVE,
  PARTIES,
  computeWorth,
  type FeedPrices,
  type CoinTransfer,
} from "./movements";
import { PROMPT, parseWhaleAnswer, WINDOW_HOURS } from "./prompts";
import type { Measured, Reported } from "./tables";

/** Calls to the agent, once an hour, and to the chain, every five minutes. */

/** A job that runs longer is cancelled; half a minute to two minutes is usual. */
const GIVE_UP_MS = 5 * MINUTE;
const FIRST_POLL_MS = 2 * SECOND;
const SLOWEST_POLL_MS = 20 * SECOND;
/** The agent is asked about these hours, and may be late. */
const OLDEST_MS = (WINDOW_HOURS + 1) * HOUR;
/** The largest difference between the agent's time of a movement and its block's. */
const TIME_MS = HOUR;
/** As a share of the larger amount: prices change between the movement, the report and the check. */
const AMOUNT = 0.1;

/** Sends the hour's only prompt, waits for its job, verifies its transactions once, and stores its alerts. */
export const askForAlerts = defineProviderAction({}, async (ctx) => {
  const finish = (alerts: VerifiedReport[], reason: string | null) =>
    ctx.runMutation(internal.whales.alerts.finishHour, { alerts, reason, usage: takeUsage() });
  try {
    const { alerts, note } = parseWhaleAnswer(await awaitAnswer(await sendPrompt(ctx, "service", PROMPT)));
    await finish(await checkAlerts(alerts), note);
  } catch (error) {
    await finish([], getErrorMessage(error));
  }
});

/** The response of a job. A poll that fails is repeated while there is time. @throws AppError `upstream` with the reason */
async function awaitAnswer(jobId: string): Promise<string> {
  const end = Date.now() + GIVE_UP_MS;
  let trouble = "";
  for (let pause = FIRST_POLL_MS; Date.now() < end; pause = Math.min(1.5 * pause, SLOWEST_POLL_MS)) {
    await sleep(Math.min(pause, end - Date.now()));
    const job = await readJob(jobId).catch((error: unknown) => {
      const failure = getErrorData(error);
      if (failure === null) throw error;
      return { status: "unread", trouble: ` ${failure.message}` } as const;
    });
    trouble = job.status === "unread" ? job.trouble : "";
    if (job.status === "completed") return job.response;
    if (job.status === "failed" || job.status === "cancelled" || job.status === "unknown")
      throw new AppError("upstream", FAILURES[job.status]);
  }
  if (trouble !== "") throw new AppError("upstream", `The agent's job did not end in time.${trouble}`);
  await cancelJob(jobId);
  throw new AppError("upstream", "The agent's job did not end in time and was cancelled");
}

const FAILURES = {
  failed: "The agent's job failed",
  cancelled: "The agent's job was cancelled",
  unknown: "The agent API no longer knows the job",
};

/** The alerts, and whether the chain agrees: the transactions that they name are looked up once. */
async function checkAlerts(alerts: readonly Reported[]): Promise<VerifiedReport[]> {
  const isHere = ({ txHash = "", chain = CHAIN }: Reported) => isHash(txHash) && chain === CHAIN;
  const prices = alerts.some(isHere) ? await orNullIfDown(readFeedPrices(), UNVERIFIED) : null;
  const check = async (alert: Reported): Promise<VerifiedReport> => {
    const { txHash = "" } = alert;
    if (prices === null || !isHere(alert)) return { ...alert, verified: false };
    const outcome = await orNullIfDown(readTransaction(txHash), UNVERIFIED);
    return { ...alert, verified: outcome?.kind === "mined" && isConfirmedByChain(alert, outcome, prices) };
  };
  return Promise.all(alerts.map(check));
}

const UNVERIFIED = "whales.unverified";

/** Whether an agent's alert agrees with the chain: transaction, age, coin and amount. */
function isConfirmedByChain(
  { token, amount, occurredAt }: Reported,
  outcome: Mined,
  prices: FeedPrices,
): boolean {
  const { time } = outcome.block;
  if (!outcome.succeeded || time < Date.now() - OLDEST_MS) return false;
  if (occurredAt !== undefined && Math.abs(time - occurredAt) > TIME_MS) return false;
  const moved = [
    { token: "ETH", amount: outcome.payment?.amount ?? 0n },
    ...outcome.transfers.map((one) => ({ token: findCoinByAddress(one.token) ?? "", amount: one.amount })),
  ];
  return moved.some(({ token: coin, amount: quantity }) => {
    if (!isCoin(coin) || getFamily(coin) !== getFamily(token)) return false;
    const price = prices.get(COINS[coin].feed);
    if (price === undefined) return false;
    const worth = computeWorth({ coin, amount: quantity }, price.usd);
    return Math.abs(worth - amount) <= AMOUNT * Math.max(worth, amount);
  });
}

const FEEDS = [...new Set(Object.values(COINS).map(({ feed }) => feed))];

/** The feeds' live prices, in one call. @throws AppError `upstream` if the chain cannot be reached */
async function readFeedPrices(): Promise<FeedPrices> {
  const quotes = await readFeeds(FEEDS, deadlines.price);
  return new Map(
    FEEDS.flatMap((name) => {
      const quote = quotes[name];
      if (quote === undefined) return [];
      return [[name, { usd: quote.usd, source: "chainlink", observedAt: quote.observedAt }]];
    }),
  );
}

/** Blocks per run: ten minutes of the chain, so that an outage is made up five times as fast as it lasted. */
const MOST_BLOCKS = 300;
/** Blocks to request at once, half as many after each refusal: five minutes of the chain. */
const SPAN = 150;
/** A smaller change of a balance is below the alerts' floor at any price up to 10,000 USD. */
const LEAST_ETHER = 100n * 10n ** 18n;
/** Transactions per round trip. */
const AT_ONCE = 15;

/**
 * Follows Base up to its safe block, and makes alerts of the large movements of labelled exchanges, and of minted and
 * burned coins. Progress is stored after each batch, so a failed run loses nothing.
 */
export const followChain = defineProviderAction({ from: vLastBlock }, async (ctx, { from }) => {
  await orNullIfDown(readNextBlocks(ctx, from), "whales.unmeasured");
});

async function readNextBlocks(ctx: ActionCtx, lastBlock: number | null): Promise<void> {
  const safe = await readSafeHead();
  const advance = (from: number | null, to: number, alerts: Measured[]): Promise<boolean> =>
    ctx.runMutation(internal.whales.alerts.advanceBlocks, { from, to, alerts, usage: takeUsage() });
  // Blocks before the first run are not read.
  if (lastBlock === null) return void (await advance(null, safe.number, []));
  let from = lastBlock;
  const range = { first: from + 1, last: Math.min(safe.number, from + MOST_BLOCKS), span: SPAN };
  const requested = { tokens: CONTRACTS, parties: PARTIES, leastEther: LEAST_ETHER };
  for await (const { last, value } of readMovements(range, requested)) {
    const alerts = await findMeasuredAlerts(value, { first: from + 1, last });
    if (!(await advance(from, last, alerts))) return;
    from = last;
  }
}

/** The movements worth an alert, in their order. The logs only select candidates: each transaction is read in full. */
async function findMeasuredAlerts(
  { logs, payments }: Moved,
  { first, last }: { first: number; last: number },
): Promise<Measured[]> {
  const transfersByHash = new Map<string, CoinTransfer[]>();
  const add = (txHash: string, one: CoinTransfer) =>
    transfersByHash.set(txHash, [...(transfersByHash.get(txHash) ?? []), one]);
  for (const { txHash, ...payment } of payments) add(txHash, { coin: "ETH", ...payment, position: NATIVE });
  for (const { token, from, to, amount, txHash, logIndex } of logs) {
    const coin = findCoinByAddress(token);
    if (coin !== null) add(txHash, { coin, from, to, amount, position: logIndex });
  }
  if (transfersByHash.size === 0) return [];
  const prices = await readFeedPrices();
  const hashes = [...transfersByHash].flatMap(([txHash, transfers]) =>
    isHash(txHash) && listLargeMovements(transfers, prices).length > 0 ? [txHash] : [],
  );
  const alerts: Measured[] = [];
  for (let next = 0; next < hashes.length; next += AT_ONCE) {
    const batch = hashes.slice(next, next + AT_ONCE);
    for (const [index, outcome] of (await Promise.all(batch.map(readTransaction))).entries()) {
      const txHash = batch[index] ?? "";
      if (outcome.kind === "too large") {
        // A receipt stuffed with logs must not stop the observation of all other transactions.
        log.warn("whales.unreadable", { txHash });
        continue;
      }
      if (outcome.kind !== "mined" || outcome.block.number < first || outcome.block.number > last)
        throw new AppError("upstream", `${UPSTREAM} changed its answers while the chain was read`);
      alerts.push(...measureTransaction(txHash, outcome, prices));
    }
  }
  return alerts.toSorted(
    (a, b) => a.movement.blockNumber - b.movement.blockNumber || a.movement.position - b.movement.position,
  );
}
