import { v } from "convex/values";
import { internal } from "../_generated/api";
import { internalAction, type ActionCtx } from "../_generated/server";
import { vBillingSubject, type BillingSubject } from "../platform/limits/callers";
import { AppError, getErrorData, getErrorMessage } from "../lib/errors";
import type { Fact } from "../figures/facts";
import { log, orNullIfDown } from "../lib/log";
import { findCoins, indexNames } from "../figures/mentions";
import { deadlines } from "../platform/outside/deadlines";
import { takeUsage, withUsage, defineProviderAction } from "../platform/outside/calls";
import { limitSourceRate } from "../providers/data/publicData";
import { awaitRefreshes, defineRefresh } from "../platform/refreshes";
import { DAY, HOUR, toIso, MINUTE, getRoundedNow, sleep } from "../lib/time";
import { askCandles } from "../providers/data/coinbase";
import { answerCaller } from "../providers/models/gateway";
import { completeStructured } from "../providers/models/structure";
import { collectFacts, collectLists } from "./collectors";
import { LISTS, QUOTES } from "./facts";
import { findPrices, getLivePrice } from "./live";
import {
  chooseCoins,
  chooseLargest,
  parseBareSymbol,
  describeKnown,
  LIST_KEY,
  parseStoredList,
  buildSnapshotQuestion,
  createTokenCheck,
  buildTokenQuestion,
  answerUnknownToken,
} from "./questions";
import type { GatewayList, MarketFigures, TokenAnswer } from "./shapes";
import { indexCoins, buildMarketView, writeSnapshot } from "./snapshot";
import { vNewestPrice } from "./samples";
import {
  PRICED_TOKENS,
  vCollectionRequest,
  vPrice,
  vPricedToken,
  type PricedToken,
  type CollectionRequest,
} from "./tables";

/** Calls to sources and to the gateway: for the market, for answers to questions about tokens, and for samples. */

/** How long the facts of an earlier refresh replace those of a failed source. */
const FACTS_GOOD_MS = 10 * MINUTE;
/**
 * The facts of the market, at most a minute old if their source answers in time.
 * @param gathering Collects them, if they are being collected.
 */
async function readMarketFacts(
  ctx: ActionCtx,
  more: readonly CollectionRequest[] = [],
  gathering?: Promise<unknown>,
): Promise<Fact[]> {
  const requested = [QUOTES, ...LISTS, ...more];
  if (gathering === undefined)
    await collectFacts(ctx, requested, { freshMs: MINUTE, waitMs: deadlines.grounding });
  else await Promise.race([gathering, sleep(deadlines.grounding)]);
  const query = { requested, withinMs: FACTS_GOOD_MS, at: getRoundedNow() };
  return (await ctx.runQuery(internal.market.facts.readFactsAt, query)).facts;
}

/** How often the gateway is asked, each time at most as long as scheduled work waits. */
const ATTEMPTS = 2;

/** The gateway's stored list; `null` if it is too old. */
async function readStoredList(ctx: ActionCtx): Promise<GatewayList | null> {
  return parseStoredList(await ctx.runQuery(internal.platform.cache.readAnswerAt, { key: LIST_KEY }));
}

/** Requests the gateway's list, and stores it; callers at the same time share one request. @throws AppError `upstream` */
async function askForList(
  ctx: ActionCtx,
  facts: readonly Fact[],
  billTo: BillingSubject,
): Promise<GatewayList> {
  const lease = { key: LIST_KEY, leaseMs: ATTEMPTS * deadlines.llmScheduled };
  if (!(await ctx.runMutation(internal.platform.cache.claimForAction, lease))) return awaitList(ctx);
  try {
    const live = describeKnown(chooseLargest(indexCoins(facts)));
    const options = { timeoutMs: deadlines.llmScheduled, attempts: ATTEMPTS, billTo };
    const { value } = await completeStructured(ctx, buildSnapshotQuestion(toIso(Date.now()), live), options);
    const answer = { key: LIST_KEY, body: JSON.stringify(value) };
    await ctx.runMutation(internal.platform.cache.storeAnswer, answer);
    return value;
  } catch (error) {
    // Whoever has waited gets this error, and the next caller asks anew.
    const failure = { key: LIST_KEY, restMs: 0, error: getErrorMessage(error), isLast: true };
    await ctx.runMutation(internal.platform.cache.recordFailure, failure);
    throw error;
  }
}

/** The list that another caller is requesting. @throws AppError `upstream` */
async function awaitList(ctx: ActionCtx): Promise<GatewayList> {
  const end = AbortSignal.timeout(ATTEMPTS * deadlines.llmScheduled);
  const [outcome] = await awaitRefreshes(ctx, [LIST_KEY], end);
  const list = await readStoredList(ctx);
  if (list === null)
    throw new AppError("upstream", outcome?.error ?? "The LLM gateway did not answer in time");
  return list;
}

const unfilledListError = () =>
  new AppError("upstream", "The LLM gateway sent a list that does not fill the market");

/**
 * Refreshes the snapshot from the sources. The gateway is asked at most every ten minutes: before the snapshot if the
 * sources do not cover the market, otherwise after it, as a reserve.
 */
export const renew = defineRefresh({}, async (ctx, { billTo }): Promise<string> => {
  const [facts, list] = await Promise.all([readMarketFacts(ctx), readStoredList(ctx)]);
  const covered = writeSnapshot(facts, list);
  const body = covered ?? writeSnapshot(facts, await askForList(ctx, facts, billTo));
  if (body === null) throw unfilledListError();
  if (covered !== null && list === null)
    await ctx.scheduler.runAfter(0, internal.market.actions.renewList, { billTo });
  return body;
});

export const renewList = defineProviderAction({ billTo: vBillingSubject }, async (ctx, { billTo }) => {
  await orNullIfDown(askForList(ctx, await readMarketFacts(ctx), billTo), "market.without a list");
});

/** The collections that the market for a report needs. */
export const listMarketRequests = (focus: string): (CollectionRequest & { freshMs: number })[] =>
  [QUOTES, ...LISTS, ...getDayRequests(focus)].map((one) => ({ ...one, freshMs: MINUTE }));

/** A focus's own last trades. */
const getDayRequests = (focus: string): CollectionRequest[] =>
  focus === "" ? [] : [{ collector: "day", subject: focus }];

/**
 * The market for a report: the figures of now, by the sources. The gateway's list fills gaps, and is asked again if it is
 * older than ten minutes.
 * @param terms.focus Token symbol, or "" for the whole market.
 * @param terms.needsList Whether the list is asked even if there is no gap.
 * @param gathering Collects what `listMarketRequests` lists.
 * @returns `raw`: the list, "" if it was not needed.
 * @throws AppError `upstream` if the gateway is needed and fails.
 */
export async function askForMarket(
  ctx: ActionCtx,
  { focus, needsList }: { focus: string; needsList: boolean },
  billTo: BillingSubject,
  gathering: Promise<unknown>,
): Promise<MarketFigures & { raw: string }> {
  const [facts, kept] = await Promise.all([
    readMarketFacts(ctx, getDayRequests(focus), gathering),
    readStoredList(ctx),
  ]);
  const isCovered = !needsList && buildMarketView(facts, kept) !== null;
  const list = kept ?? (isCovered ? null : await askForList(ctx, facts, billTo));
  const figures = buildMarketView(facts, list);
  if (figures === null) throw unfilledListError();
  return { ...figures, raw: list === null ? "" : JSON.stringify(list) };
}

/** Asks the gateway a question. The sources' figures go into the prompt, and replace the model's in the answer. */
export const writeAnswer = defineRefresh({ question: v.string() }, async (ctx, request): Promise<string> => {
  const { question, billTo } = request;
  const subject = parseBareSymbol(question);
  const facts = await readMarketFacts(ctx, subject === null ? [] : [{ collector: "day", subject }]);
  const coins = indexCoins(facts);
  const now = Date.now();
  const check = createTokenCheck(question, facts, coins, now);
  const mentioned = [...findCoins(question, indexNames(facts)), ...(subject === null ? [] : [subject])];
  const context = {
    question,
    nowIso: toIso(now),
    live: describeKnown(chooseCoins(coins, mentioned), mentioned),
    searched: facts.filter(({ kind }) => kind === "trendingPlace").map(({ subject }) => subject),
  };
  const options = { timeoutMs: deadlines.llmScheduled, attempts: ATTEMPTS, billTo };
  const answered = completeStructured(ctx, buildTokenQuestion(context, check), options);
  const { value, model } = await answerCaller(answered);
  const { token, observedAt } = check.figures(value.token);
  const text = check.mended(value).answer;
  const answer = token === null ? `${answerUnknownToken(question)} ${text}` : text;
  const tokenAnswer = {
    token,
    answer,
    model,
    priceSource: token?.source ?? null,
    fetchedAt: toIso(observedAt),
  };
  return JSON.stringify(tokenAnswer satisfies TokenAnswer);
});

/** For the operator, the live price: `npx convex run --prod market/actions:price '{"token":"ETH"}'`. */
export const price = internalAction({
  args: { token: vPricedToken },
  returns: vPrice,
  handler: withUsage((ctx, { token }: { token: PricedToken }) => getLivePrice(ctx, token)),
});

const vTicked = { lists: v.array(vCollectionRequest), newest: v.array(vNewestPrice) };

/** Takes a sample of each token, with one call to the chain for all, and collects the claimed lists of coins. */
export const takeSamples = defineProviderAction(vTicked, async (ctx, { lists, newest }) => {
  const [{ found, failures }, outcomes] = await Promise.all([
    findPrices(PRICED_TOKENS),
    collectLists(lists, newest),
  ]);
  const stored = { samples: found, outcomes, usage: takeUsage() };
  await ctx.runMutation(internal.market.samples.storeAll, stored);
  if (failures.length > 0) log.warn("prices.sources failed", { reasons: failures.join("; ") });
  for (const token of PRICED_TOKENS) {
    if (!found.some((one) => one.token === token)) log.error("prices.no sample", { token });
  }
});

/** Stores the exchange's hourly closes of the last day, so that a new deployment has a price history. The next tick retries. */
export const learnLastDay = defineProviderAction({}, async (ctx) => {
  const now = Date.now();
  for (const token of PRICED_TOKENS) {
    const range = { step: HOUR, from: now - DAY - 2 * HOUR, to: now };
    try {
      const candles = await askCandles(limitSourceRate(ctx), token, range, deadlines.price);
      const closes = candles.map(({ openedAt, close }) => ({ at: openedAt + HOUR, priceUsd: close }));
      await ctx.runMutation(internal.market.samples.storeHours, { token, source: "coinbase", closes });
    } catch (error) {
      if (getErrorData(error) === null) throw error;
      log.warn("prices.day is not known", { token, reason: getErrorMessage(error) });
    }
  }
});
