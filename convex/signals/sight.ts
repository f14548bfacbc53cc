import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { deadlines } from "../lib/deadlines";
import { failureOf } from "../lib/errors";
import { log } from "../lib/log";
import { MINUTE } from "../lib/time";
import { PRICED_TOKENS } from "../prices/tables";
import { askCandles, VENUES } from "../providers/exchanges";
import type { Candle, Venue } from "../providers/exchangeShapes";
import { assembled, point, uncoveredMinutes, type Stretch } from "./path";
import type { LabToken } from "./rules";

/**
 * What is known of a price's path: one-minute candles of Coinbase; where it has none, Binance's; where neither has any,
 * the service's own samples. For actions.
 */

/** Epoch ms, both included. */
export type Span = { from: number; to: number };

export async function pathOf(ctx: ActionCtx, token: LabToken, span: Span): Promise<Stretch[]> {
  const candles: Stretch[] = [];
  for (const exchange of VENUES) {
    if (isWhole(candles, span)) break;
    const told = await candlesOf(ctx, exchange, token, span);
    candles.push(...told.filter(({ from }) => !candles.some((one) => one.from === from)));
  }
  if (isWhole(candles, span)) return candles;
  const sampled = PRICED_TOKENS.find((one) => one === token);
  if (sampled === undefined) return candles;
  const samples = await ctx.runQuery(internal.prices.samples.between, { token: sampled, ...span });
  return assembled(
    candles,
    samples.map(({ observedAt, priceUsd }) => point(observedAt, priceUsd, "sample")),
  );
}

/** What somebody measures at this moment, as the end of a path; nothing where nobody does. */
export async function measuredNow(
  token: LabToken,
  measure: () => Promise<{ priceUsd: number; observedAt: number }>,
): Promise<Stretch[]> {
  const price = await reached(measure(), "signals.no measured price", { token });
  return price === null ? [] : [point(price.observedAt, price.priceUsd, "price")];
}

/** The minute that has not closed is no gap. */
function isWhole(candles: readonly Stretch[], { from, to }: Span): boolean {
  return uncoveredMinutes(candles, from, Math.min(to, Math.floor(Date.now() / MINUTE) * MINUTE)) === 0;
}

async function candlesOf(
  ctx: ActionCtx,
  exchange: Venue,
  token: LabToken,
  { from, to }: Span,
): Promise<Stretch[]> {
  const range = { interval: "minute", from: Math.floor(from / MINUTE) * MINUTE, to: to + 1 } as const;
  const asking = askCandles(exchange, ctx, token, range, deadlines.publicData);
  return ((await reached(asking, "signals.no candles", { token })) ?? []).map(stretchOf);
}

/** What is asked of the outside; `null` where it is out of reach, with a word to the operator. */
export async function reached<Value>(
  asking: Promise<Value>,
  event: string,
  about: Record<string, string> = {},
): Promise<Value | null> {
  try {
    return await asking;
  } catch (error) {
    const failure = failureOf(error);
    if (failure === null) throw error;
    log.warn(event, { ...about, reason: failure.message });
    return null;
  }
}

function stretchOf({ openedAt, open, high, low, close }: Candle): Stretch {
  return { from: openedAt, to: openedAt + MINUTE, open, high, low, close, by: "candle" };
}
