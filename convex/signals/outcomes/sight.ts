import { internal } from "../../_generated/api";
import type { ActionCtx } from "../../_generated/server";
import { deadlines } from "../../lib/outside/deadlines";
import { failureOf } from "../../lib/errors";
import { log } from "../../lib/log";
import { providerAction } from "../../lib/outside/providerCalls";
import { MINUTE } from "../../lib/time";
import { measuredPrice } from "../../prices/live";
import { findTicked } from "../../prices/sources";
import { PRICED_TOKENS, type PriceSource } from "../../prices/tables";
import { askCandles, VENUES } from "../../providers/data/exchanges";
import type { Candle, Venue } from "../../providers/data/exchangeShapes";
import { vDesk, vLabToken, type Slot } from "../record/rows";
import { assembled, point, uncoveredMinutes } from "../trade/path";
import type { Stretch } from "../trade/rows";
import type { LabToken } from "../trade/rules";

/**
 * The known path of a price: one-minute candles of Coinbase, otherwise those of Binance, otherwise the service's own
 * samples. For actions.
 */

/** Epoch ms, both included. */
type Span = { from: number; to: number };

async function pathOf(ctx: ActionCtx, token: LabToken, span: Span): Promise<Stretch[]> {
  const candles: Stretch[] = [];
  for (const exchange of VENUES) {
    if (isWhole(candles, span)) break;
    const more = await candlesOf(ctx, exchange, token, span);
    candles.push(...more.filter(({ from }) => !candles.some((one) => one.from === from)));
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

type Subject = Pick<Slot, "desk" | "token">;
type Seen = { priceUsd: number; source: PriceSource; observedAt: number };

/** A price that its source has seen since a moment (epoch ms), for the entry of a trade. @throws AppError `upstream` */
export async function priceSince(ctx: ActionCtx, subject: Subject, since: number): Promise<Seen> {
  const { desk, token } = subject;
  // If a token's prices are stored, a measurement also serves others; measurements for the lab's shadows are not
  // stored.
  const kept = desk === "lab" ? undefined : PRICED_TOKENS.find((one) => one === token);
  return kept === undefined ? findTicked(token, since) : measuredPrice(ctx, kept, since);
}

/** The price at this moment as the end of a path; empty if nobody measures it. */
async function measuredNow(ctx: ActionCtx, subject: Subject): Promise<Stretch[]> {
  const price = await reached(priceSince(ctx, subject, 0), "signals.no measured price", {
    token: subject.token,
  });
  return price === null ? [] : [point(price.observedAt, price.priceUsd, "price")];
}

/** The minute that has not closed does not count as a gap. */
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

/** The answer of a provider; `null` if it cannot be reached, which is logged for the operator. */
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

/**
 * The most looks in a tick: usually one is enough for all signals. After an outage, further ones wait for the next
 * tick.
 */
const LOOKS = 20;

/** Looks at a token's price once, and at the path of each open signal of a desk on it. */
export const look = providerAction({ desk: vDesk, token: vLabToken }, async (ctx, { desk, token }) => {
  const price = await measuredNow(ctx, { desk, token });
  let after = 0;
  for (let n = 0; n < LOOKS; n++) {
    const wanted = { desk, token, after, now: Date.now() };
    const open = await ctx.runQuery(internal.signals.outcomes.tracker.next, wanted);
    if (open === null) break;
    const seen = assembled(await pathOf(ctx, token, open.span), price);
    await ctx.runMutation(internal.signals.outcomes.tracker.settle, { signalIds: open.signalIds, seen });
    after = open.until;
  }
});
