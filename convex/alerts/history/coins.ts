import { internal } from "../../_generated/api";
import type { ActionCtx } from "../../_generated/server";
import { gather } from "../../evidence/desk";
import type { Fact } from "../../evidence/tables";
import { failureOf } from "../../lib/errors";
import { deadlines } from "../../lib/outside/deadlines";
import { DAY, HOUR, MINUTE, roundedNow } from "../../lib/time";
import { askForCandles, askForDay } from "../../providers/data/exchanges";
import { isAlwaysSampled } from "./subjects";

/**
 * Prices of the coins that are not always sampled, from the time when somebody first asks for an alert on one. For
 * actions.
 */

const LIST = { collector: "markets", subject: "" } as const;
/** A week, which is the longest time that a change may cover, and the hour in which it begins. */
const EARLIER_MS = 14 * DAY + HOUR;
/** If a coin has been known for this long, no earlier prices are asked for. */
const KNOWN_MS = 7 * DAY;

/** The facts of the largest coins, as old as they may be. */
export async function listed(ctx: ActionCtx, freshMs: number): Promise<Fact[]> {
  if (freshMs < DAY) await gather(ctx, [LIST], { freshMs, waitMs: deadlines.grounding });
  const query = { wanted: [LIST], withinMs: Math.max(freshMs, MINUTE), at: roundedNow() };
  const { facts } = await ctx.runQuery(internal.evidence.collections.latest, query);
  return facts;
}

/**
 * Takes a sample of each of these coins: from the list of coins, which is one answer for all, otherwise from an
 * exchange.
 */
export async function sampleCoins(ctx: ActionCtx, tokens: readonly string[]): Promise<void> {
  const facts = await listed(ctx, 4 * MINUTE);
  for (const token of tokens) {
    const price = facts.find(({ subject, kind }) => subject === token && kind === "price");
    const sample =
      typeof price?.value === "number"
        ? { priceUsd: price.value, source: "coingecko" as const, observedAt: price.observedAt }
        : await traded(ctx, token);
    if (sample !== null) await ctx.runMutation(internal.prices.samples.store, { token, ...sample });
  }
}

async function traded(ctx: ActionCtx, token: string) {
  const day = await orNothing(askForDay(ctx, token, deadlines.price));
  if (day === null) return null;
  return { priceUsd: day.value.last, source: day.source, observedAt: day.value.observedAt };
}

/** Makes sure that a coin's price is known now and for the two weeks before, as far as an exchange has it. */
export async function learn(ctx: ActionCtx, token: string): Promise<void> {
  if (!isAlwaysSampled(token)) await sampleCoins(ctx, [token]);
  const now = Date.now();
  const first: number | null = await ctx.runQuery(internal.prices.samples.first, { token });
  if (first === null || first <= now - KNOWN_MS) return;
  const range = { interval: "hour" as const, from: now - EARLIER_MS, to: now };
  const candles = await orNothing(askForCandles(ctx, token, range, deadlines.price));
  if (candles === null) return;
  const closes = candles.value.map(({ openedAt, close }) => ({ at: openedAt + HOUR, priceUsd: close }));
  const earlier = { token, source: candles.source, closes: closes.filter(({ at }) => at <= now) };
  await ctx.runMutation(internal.prices.samples.storeEarlier, earlier);
}

/** What no source has stays unknown; the alert works without it. */
async function orNothing<Value>(answer: Promise<Value>): Promise<Value | null> {
  try {
    return await answer;
  } catch (error) {
    if (failureOf(error) === null) throw error;
    return null;
  }
}
