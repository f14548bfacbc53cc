import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import type { Fact } from "../figures/facts";
import { AppError, orNull } from "../lib/errors";
import { DAY, HOUR, MINUTE, getRoundedNow } from "../lib/time";
import { takeUsage } from "../platform/outside/calls";
import { deadlines } from "../platform/outside/deadlines";
import { askCandles, askTrade } from "../providers/data/coinbase";
import { limitSourceRate } from "../providers/data/publicData";
import { collectFacts } from "./collectors";
import { isAlwaysSampled } from "./tables";

/**
 * The list of the largest coins, and the prices of those that are not always sampled: they are sampled while somebody asks
 * for them. For actions.
 */

const LIST = { collector: "markets", subject: "" } as const;
/** The history that a coin's change and its picture need: a week, the longest window before that, and one candle. */
const EARLIER_MS = 14 * DAY + HOUR;
/** A coin with samples of this age needs no earlier prices. */
const KNOWN_MS = 7 * DAY;

/**
 * The facts of the largest coins, collected anew if they are older than `freshMs`, unless that is a day.
 * @param withinMs The age that counts where the source does not answer.
 */
export async function readListFacts(
  ctx: ActionCtx,
  freshMs: number,
  withinMs = Math.max(freshMs, MINUTE),
): Promise<Fact[]> {
  if (freshMs < DAY) await collectFacts(ctx, [LIST], { freshMs, waitMs: deadlines.grounding });
  const query = { requested: [LIST], withinMs, at: getRoundedNow() };
  return (await ctx.runQuery(internal.market.facts.readFactsAt, query)).facts;
}

const findPrice = (facts: readonly Fact[], token: string): Fact | undefined =>
  facts.find(({ subject, kind }) => subject === token && kind === "price");

/** Takes a sample of each coin: from the list of the largest coins, which is one call for all, otherwise from an exchange. */
export async function sampleCoins(ctx: ActionCtx, tokens: readonly string[]): Promise<void> {
  const facts = await readListFacts(ctx, 4 * MINUTE);
  const samples = [];
  for (const token of tokens) {
    const listed = findPrice(facts, token);
    if (typeof listed?.value === "number") {
      const { value: priceUsd, observedAt } = listed;
      samples.push({ token, priceUsd, observedAt, source: "coingecko" as const });
      continue;
    }
    const traded = await orNull(askTrade(limitSourceRate(ctx), token, deadlines.price));
    if (traded === null) continue;
    const { usd: priceUsd, observedAt } = traded;
    samples.push({ token, priceUsd, observedAt, source: "coinbase" as const });
  }
  if (samples.length > 0)
    await ctx.runMutation(internal.market.samples.storeAll, { samples, usage: takeUsage() });
}

/**
 * Fetches a coin's price now and its prices of the two weeks before, as far as an exchange has them.
 * @throws AppError `invalid_request` for a coin outside the list of the largest: each costs a call every few minutes.
 */
export async function ensurePrices(ctx: ActionCtx, token: string): Promise<void> {
  if (!isAlwaysSampled(token)) {
    await sampleCoins(ctx, [token]);
    const refusal = `${token} is not among the 100 largest coins, and prices have alerts for those only: choose another coin`;
    if (findPrice(await readListFacts(ctx, DAY), token) === undefined)
      throw new AppError("invalid_request", refusal);
  }
  const now = Date.now();
  const first: number | null = await ctx.runQuery(internal.market.samples.getFirstSampleTime, { token });
  if (first === null || first <= now - KNOWN_MS) return;
  const range = { step: HOUR, from: now - EARLIER_MS, to: now };
  const candles = await orNull(askCandles(limitSourceRate(ctx), token, range, deadlines.price));
  if (candles === null) return;
  const closes = candles.map(({ openedAt, close }) => ({ at: openedAt + HOUR, priceUsd: close }));
  const earlier = { token, source: "coinbase" as const, closes: closes.filter(({ at }) => at <= now) };
  await ctx.runMutation(internal.market.samples.storeEarlier, earlier);
}
