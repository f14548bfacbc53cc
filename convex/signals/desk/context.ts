import type { ActionCtx } from "../../_generated/server";
import { deadlines } from "../../lib/deadlines";
import { DAY, HOUR } from "../../lib/time";
import { askForCandles, askForDay } from "../../providers/exchanges";
import { askPerpetuals } from "../../providers/hyperliquid";
import type { HourlyClose } from "../../prices/tables";
import { reached } from "../outcomes/sight";
import { HOURS } from "../arms/desks";
import type { Hour, MarketContext } from "./prompts";
import type { LabToken } from "../trade/rules";

/** What a signal is asked for with: the market's last two days, as measured. What is out of reach is left out and said so. */

/** @param closes The service's own hours, for those that no exchange tells. */
export async function marketContext(
  ctx: ActionCtx,
  token: LabToken,
  closes: readonly HourlyClose[],
): Promise<MarketContext> {
  const to = Math.floor(Date.now() / HOUR) * HOUR;
  const range = { interval: "hour", from: to - HOURS * HOUR, to } as const;
  const [candles, day, perpetuals] = await Promise.all([
    reached(askForCandles(ctx, token, range, deadlines.publicData), "signals.context is incomplete"),
    reached(askForDay(ctx, token, deadlines.publicData), "signals.context is incomplete"),
    reached(askPerpetuals(ctx, deadlines.publicData), "signals.context is incomplete"),
  ]);
  const told = (candles?.value ?? []).map(({ openedAt, close, low, high, volume }): Hour => {
    return { endsAt: openedAt + HOUR, close, source: candles?.source ?? "", range: { low, high, volume } };
  });
  const own = closes
    .filter(({ hourEndsAt }) => hourEndsAt > range.from && !told.some(({ endsAt }) => endsAt === hourEndsAt))
    .map(({ hourEndsAt, priceUsd, source }): Hour => {
      return { endsAt: hourEndsAt, close: priceUsd, source, range: null };
    });
  const perpetual = perpetuals?.find(({ symbol }) => symbol === token);
  return {
    hours: [...told, ...own].sort((a, b) => a.endsAt - b.endsAt),
    day: day === null ? null : { ...day.value, source: day.source },
    funding:
      perpetual === undefined
        ? null
        : { percent: perpetual.fundingPercent, openInterestUsd: perpetual.openInterest },
  };
}

/** The close of the hour that ended a day ago; `null` where it is not known. */
export function dayAgo(hours: readonly Hour[], now: number): number | null {
  const hour = hours.findLast(({ endsAt }) => endsAt <= now - DAY);
  return hour === undefined || hour.endsAt <= now - DAY - HOUR ? null : hour.close;
}
