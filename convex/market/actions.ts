import { v } from "convex/values";
import { internal } from "../_generated/api";
import { internalAction, type ActionCtx } from "../_generated/server";
import type { Payer } from "../lib/limits/callers";
import { failureOf, messageOf } from "../lib/errors";
import type { Fact } from "../lib/facts";
import { log, reached } from "../lib/log";
import { namesOf } from "../lib/money/coins";
import { deadlines } from "../lib/outside/deadlines";
import { takeNoted, counted, providerAction } from "../lib/outside/calls";
import { turnsOf } from "../lib/outside/sourceTurns";
import { renewal } from "../lib/cache";
import { vPayer } from "../lib/tables";
import { DAY, HOUR, iso, MINUTE, roundedNow } from "../lib/time";
import { askCandles } from "../providers/data/coinbase";
import { completeStructured } from "../providers/models/structure";
import { gather } from "./collectors";
import { coinsNamed, LISTS, QUOTES } from "./facts";
import { findPrices, livePrice } from "./live";
import {
  bareSymbol,
  describeKnown,
  LIST_KEY,
  listIn,
  snapshotQuestion,
  tokenCheck,
  tokenQuestion,
  unknownToken,
} from "./questions";
import type { MarketFigures, TokenAnswer } from "./shapes";
import { knownCoins, marketView, written, type GatewayList } from "./snapshot";
import { PRICED_TOKENS, vPrice, vPricedToken, type PricedToken, type Wanted } from "./tables";

/** Calls to sources and to the gateway: for the market, for answers to questions about tokens, and for samples. */

/** Facts of an earlier refresh serve this long where a source fails. */
const FACTS_GOOD_MS = 10 * MINUTE;
/** The facts of the market, at most a minute old where their source answers; none of them is waited for long. */
async function marketFacts(ctx: ActionCtx, more: readonly Wanted[] = []): Promise<Fact[]> {
  const wanted = [QUOTES, ...LISTS, ...more];
  await gather(ctx, wanted, { freshMs: MINUTE, waitMs: deadlines.grounding });
  const query = { wanted, withinMs: FACTS_GOOD_MS, at: roundedNow() };
  return (await ctx.runQuery(internal.market.facts.latest, query)).facts;
}

/** The gateway's list as it was last given; `null` if it is too old. */
async function keptList(ctx: ActionCtx): Promise<GatewayList | null> {
  return listIn(await ctx.runQuery(internal.lib.cache.answer, { key: LIST_KEY }));
}

/** Asks the gateway for its list, and keeps it. @throws AppError `upstream` */
async function askForList(ctx: ActionCtx, facts: readonly Fact[], payer: Payer): Promise<GatewayList> {
  const live = describeKnown(knownCoins(facts));
  const patience = { timeoutMs: deadlines.llmScheduled, attempts: 2, payer };
  const { value } = await completeStructured(ctx, snapshotQuestion(iso(Date.now()), live), patience);
  await ctx.runMutation(internal.lib.cache.keep, { key: LIST_KEY, body: JSON.stringify(value) });
  return value;
}

const unfilled = () => new Error("The gateway's list does not fill the market");

/**
 * Renews the snapshot from the sources. The gateway is asked at most every ten minutes: before the snapshot if the
 * sources do not cover the market, otherwise after it, for the time when they do not.
 */
export const renew = renewal({}, async (ctx, { payer }): Promise<string> => {
  const [facts, list] = await Promise.all([marketFacts(ctx), keptList(ctx)]);
  const covered = written(facts, list);
  const body = covered ?? written(facts, await askForList(ctx, facts, payer));
  if (body === null) throw unfilled();
  if (covered !== null && list === null)
    await ctx.scheduler.runAfter(0, internal.market.actions.renewList, { payer });
  return body;
});

export const renewList = providerAction({ payer: vPayer }, async (ctx, { payer }) => {
  await reached(askForList(ctx, await marketFacts(ctx), payer), "market.without a list");
});

/**
 * The market for a report: the figures of now, and the gateway's list, which is asked again if it is older than ten
 * minutes. The focus's own last trades are collected with it.
 * @param focus Token symbol, or "" for the whole market.
 * @throws AppError `upstream` if the gateway is needed and fails.
 */
export async function askForMarket(
  ctx: ActionCtx,
  focus: string,
  payer: Payer,
): Promise<MarketFigures & { raw: string }> {
  const own: Wanted[] = focus === "" ? [] : [{ collector: "day", subject: focus }];
  const [facts, kept] = await Promise.all([marketFacts(ctx, own), keptList(ctx)]);
  const list = kept ?? (await askForList(ctx, facts, payer));
  const figures = marketView(facts, list);
  if (figures === null) throw unfilled();
  return { ...figures, raw: JSON.stringify(list) };
}

/** Asks the gateway, with what the sources know; its figures are the sources'. */
export const writeAnswer = renewal({ question: v.string() }, async (ctx, wish): Promise<string> => {
  const { question, payer } = wish;
  const subject = bareSymbol(question);
  const facts = await marketFacts(ctx, subject === null ? [] : [{ collector: "day", subject }]);
  const known = knownCoins(facts);
  const now = Date.now();
  const check = tokenCheck(question, facts, known, now);
  const context = {
    question,
    nowIso: iso(now),
    live: describeKnown(known, coinsNamed(question, namesOf(facts))),
    searched: facts.filter(({ kind }) => kind === "trendingPlace").map(({ subject }) => subject),
  };
  const patience = { timeoutMs: deadlines.llmScheduled, attempts: 2, payer };
  const { value, model } = await completeStructured(ctx, tokenQuestion(context, check), patience);
  const { token, observedAt } = check.figures(value.token);
  const words = check.mended(value).answer;
  const answer = token === null ? `${unknownToken(question)} ${words}` : words;
  const told = { token, answer, model, priceSource: token?.source ?? null, fetchedAt: iso(observedAt) };
  return JSON.stringify(told satisfies TokenAnswer);
});

/** The live price by hand: `npx convex run --prod market/actions:price '{"token":"ETH"}'`. */
export const price = internalAction({
  args: { token: vPricedToken },
  returns: vPrice,
  handler: counted((ctx, { token }: { token: PricedToken }) => livePrice(ctx, token)),
});

/** Takes one sample of each token, with one call to the chain for all. */
export const sample = providerAction({}, async (ctx) => {
  const { found, failures } = await findPrices(PRICED_TOKENS);
  await ctx.runMutation(internal.market.samples.storeAll, { samples: found, noted: takeNoted() });
  if (failures.length > 0) log.warn("prices.sources failed", { reasons: failures.join("; ") });
  for (const token of PRICED_TOKENS) {
    if (!found.some((one) => one.token === token)) log.error("prices.no sample", { token });
  }
});

/** Stores the hours of the last day as the exchange has them, so that prices have a past from the first start on; the next tick asks again. */
export const learnDay = providerAction({}, async (ctx) => {
  const now = Date.now();
  for (const token of PRICED_TOKENS) {
    const range = { step: HOUR, from: now - DAY - 2 * HOUR, to: now };
    try {
      const candles = await askCandles(turnsOf(ctx), token, range, deadlines.price);
      const closes = candles.map(({ openedAt, close }) => ({ at: openedAt + HOUR, priceUsd: close }));
      await ctx.runMutation(internal.market.samples.storeHours, { token, source: "coinbase", closes });
    } catch (error) {
      if (failureOf(error) === null) throw error;
      log.warn("prices.day is not known", { token, reason: messageOf(error) });
    }
  }
});
