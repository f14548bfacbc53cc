import { v } from "convex/values";
import { internal } from "../_generated/api";
import { internalAction, type ActionCtx } from "../_generated/server";
import type { Payer } from "../lib/limits/callers";
import { failureOf, messageOf } from "../lib/errors";
import type { Fact } from "../lib/facts";
import { log } from "../lib/log";
import { deadlines } from "../lib/outside/deadlines";
import { takeNoted } from "../lib/outside/notes";
import { counted, providerAction } from "../lib/outside/providerCalls";
import { awaitRefresh, vRefresh } from "../lib/cache";
import { DAY, HOUR, iso, MINUTE, roundedNow } from "../lib/time";
import { worker } from "../lib/work/desk";
import { askCandles } from "../providers/data/coinbase";
import { completeStructured } from "../providers/models/structure";
import { gather } from "./collectors";
import { LISTS, QUOTES } from "./facts";
import { findPrices, livePrice } from "./live";
import {
  bareSymbol,
  describeKnown,
  describeSizes,
  listIn,
  snapshotQuestion,
  tokenCheck,
  tokenQuestion,
  type StoredList,
} from "./questions";
import { describeMarket, focusView, knownCoins, marketView, sourcesOf, type Snapshot } from "./snapshot";
import { PRICED_TOKENS, vPrice, vPricedToken, type PricedToken, type Wanted } from "./tables";

/** Calls to sources and to the gateway: for the market, for answers to questions about tokens, and for samples. */

/** Facts of an earlier refresh serve this long where a source fails. */
const FACTS_GOOD_MS = 10 * MINUTE;
/** Two calls of a minute (the second is the repair turn) and a margin. */
const LEASE_MS = 2.5 * MINUTE;
/** An older snapshot says nothing about a token's present. */
const MARKET_USABLE_MS = 15 * MINUTE;

/** The facts of the market, at most a minute old where their source answers; none of them is waited for long. */
async function marketFacts(ctx: ActionCtx, more: readonly Wanted[] = []): Promise<Fact[]> {
  const wanted = [QUOTES, ...LISTS, ...more];
  await gather(ctx, wanted, { freshMs: MINUTE, waitMs: deadlines.grounding });
  const query = { wanted, withinMs: FACTS_GOOD_MS, at: roundedNow() };
  return (await ctx.runQuery(internal.market.collections.latest, query)).facts;
}

/** @throws AppError `upstream` if the gateway fails, `rate_limited` without a budget */
async function askForList(ctx: ActionCtx, facts: readonly Fact[], payer: Payer) {
  const live = describeKnown(knownCoins(facts), facts);
  const patience = { turnMs: deadlines.llmScheduled, attempts: 2, payer };
  const answer = await completeStructured(ctx, snapshotQuestion(iso(Date.now()), live), patience);
  const list: StoredList = { figures: JSON.stringify(answer.value), model: answer.model, at: Date.now() };
  return { list, tokensUsed: answer.tokensUsed };
}

/**
 * Renews the snapshot from the sources. The gateway is asked at most every ten minutes: before the snapshot if the
 * sources do not cover the market, otherwise after it, for the time when they do not.
 */
export const renew = worker({ ...vRefresh }, async (ctx, { key, attempt, payer, job }) => {
  const taken = { key, attempt, leaseMs: LEASE_MS };
  if (!(await ctx.runMutation(internal.lib.cache.take, taken))) return "over";
  const [facts, stored] = await Promise.all([
    marketFacts(ctx),
    ctx.runQuery(internal.market.snapshots.list, {}),
  ]);
  const list = listIn(stored);
  const figures = marketView(facts, list);
  const of = { key, attempt, job };
  const sources = sourcesOf(facts);
  if (figures !== null) {
    await ctx.runMutation(internal.market.snapshots.store, { of, figures, sources });
    if (list === null) await renewList(ctx, facts, payer);
    return;
  }
  const asked = await askForList(ctx, facts, payer);
  const filled = marketView(facts, listIn(asked.list));
  if (filled === null) throw new Error("The gateway's list does not fill the market");
  await ctx.runMutation(internal.market.snapshots.store, { of, figures: filled, sources, list: asked.list });
});

async function renewList(ctx: ActionCtx, facts: readonly Fact[], payer: Payer): Promise<void> {
  try {
    const { list } = await askForList(ctx, facts, payer);
    await ctx.runMutation(internal.market.snapshots.keepList, { list });
  } catch (error) {
    if (failureOf(error) === null) throw error;
    log.warn("market.without a list", { reason: messageOf(error) });
  }
}

/**
 * The market for a report: the figures of now, with the focus's own, and the gateway's list, which is asked again if it
 * is older than ten minutes.
 * @param focus Token symbol, or "" for the whole market.
 * @throws AppError `upstream` if the gateway is needed and fails.
 */
export async function askForMarket(ctx: ActionCtx, focus: string, payer: Payer) {
  const own: Wanted[] = focus === "" ? [] : [{ collector: "day", subject: focus }];
  const [facts, stored] = await Promise.all([
    marketFacts(ctx, own),
    ctx.runQuery(internal.market.snapshots.list, {}),
  ]);
  const fresh = listIn(stored);
  const asked = fresh === null || stored === null ? await askForList(ctx, facts, payer) : null;
  const used = asked?.list ?? stored;
  if (asked !== null) await ctx.runMutation(internal.market.snapshots.keepList, { list: asked.list });
  const list = listIn(used);
  const figures = marketView(facts, list);
  if (figures === null || used === null) throw new Error("The gateway's list does not fill the market");
  return {
    figures,
    focus: focus === "" ? null : focusView(focus, facts, list),
    sources: sourcesOf(facts),
    model: used.model,
    raw: used.figures,
    tokensUsed: asked?.tokensUsed ?? 0,
  };
}

/**
 * The snapshot, however old; one older than `freshMs` is first renewed, for `waitMs` at most. For actions.
 * @param forService Whether the service pays for it.
 * @throws AppError `upstream` if the gateway was asked and failed; `rate_limited` if too many requests wait.
 */
export async function recentMarket(
  ctx: ActionCtx,
  { freshMs, waitMs, forService }: { freshMs: number; waitMs: number; forService: boolean },
): Promise<Snapshot | null> {
  const read = () => ctx.runQuery(internal.market.snapshots.current, {});
  const stored = await read();
  if (stored !== null && Date.now() - stored.fetchedAt <= freshMs) return stored;
  const begun = { caller: { address: null }, forService };
  const ticket = await ctx.runMutation(internal.market.snapshots.begin, begun);
  await awaitRefresh(ctx, ticket, AbortSignal.timeout(waitMs));
  return read();
}

/** Asks the gateway, with the live prices and a recent snapshot of the market; its figures are the sources'. */
export const writeAnswer = worker(
  { question: v.string(), ...vRefresh },
  async (ctx, { question, key, attempt, payer, job }) => {
    const taken = { key, attempt, leaseMs: LEASE_MS };
    if (!(await ctx.runMutation(internal.lib.cache.take, taken))) return "over";
    const subject = bareSymbol(question);
    const facts = await marketFacts(ctx, subject === null ? [] : [{ collector: "day", subject }]);
    const known = knownCoins(facts);
    const now = Date.now();
    const market = await ctx.runQuery(internal.market.snapshots.current, {});
    const isRecent = market !== null && now - market.fetchedAt <= MARKET_USABLE_MS;
    const check = tokenCheck(question, facts, known, now);
    const context = {
      question,
      nowIso: iso(now),
      live: describeKnown(known, facts),
      sizes: describeSizes(question, facts),
      market: isRecent ? describeMarket(market) : null,
    };
    const patience = { turnMs: deadlines.llmScheduled, attempts: 2, payer };
    const { value, model } = await completeStructured(ctx, tokenQuestion(context, check), patience);
    const { token, observedAt: figuresAt } = check.figures(value.token);
    const result = {
      token,
      answer: check.mended(value).answer,
      model,
      priceSource: token?.source ?? null,
      figuresAt,
    };
    await ctx.runMutation(internal.market.snapshots.storeAnswer, {
      of: { key, attempt, job },
      question,
      result,
    });
  },
);

/** The live price by hand: `npx convex run market/actions:price '{"token":"ETH"}'`. */
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
    const range = { interval: "hour" as const, from: now - DAY - 2 * HOUR, to: now };
    try {
      const candles = await askCandles(ctx, token, range, deadlines.price);
      const closes = candles.map(({ openedAt, close }) => ({ at: openedAt + HOUR, priceUsd: close }));
      await ctx.runMutation(internal.market.samples.storeHours, { token, source: "coinbase", closes });
    } catch (error) {
      if (failureOf(error) === null) throw error;
      log.warn("prices.day is not known", { token, reason: messageOf(error) });
    }
  }
});
