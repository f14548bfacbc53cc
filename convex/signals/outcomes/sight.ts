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
 * What is known of a price's path: one-minute candles of Coinbase; where it has none, Binance's; where neither has any,
 * the service's own samples. For actions.
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

/** A price that its source has seen since a moment (epoch ms), such as a trade is entered at. @throws AppError `upstream` */
export async function priceSince(ctx: ActionCtx, subject: Subject, since: number): Promise<Seen> {
  const { desk, token } = subject;
  // What is measured for a token whose prices are kept serves others too; the lab's shadows add nothing to them.
  const kept = desk === "lab" ? undefined : PRICED_TOKENS.find((one) => one === token);
  return kept === undefined ? findTicked(token, since) : measuredPrice(ctx, kept, since);
}

/** What somebody measures at this moment, as the end of a path; nothing where nobody does. */
async function measuredNow(ctx: ActionCtx, subject: Subject): Promise<Stretch[]> {
  const price = await reached(priceSince(ctx, subject, 0), "signals.no measured price", {
    token: subject.token,
  });
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

/** Looks of a tick: usually one holds all. More, after an outage, wait for the next tick. */
const LOOKS = 20;

/** Looks at a token's price once, and at the path of each of a desk's open signals of it. */
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
