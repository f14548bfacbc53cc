import type * as z from "zod";
import { excessPointsOf, standingOf } from "../signals/record";
import type { Signal } from "../signals/tables";
import type { trackRecord } from "./views";

/** How the signals of a window ended, in the figures of earlier clients. Pure. */

export function trackRecordView(signals: readonly Signal[]): z.output<typeof trackRecord> {
  const trades = signals.filter(({ signal, status }) => signal !== "HOLD" && status !== "PENDING");
  const { wins, losses, winrate, ...results } = standingOf(trades);
  const excess = trades.reduce((sum, one) => sum + (excessPointsOf(one) ?? 0), 0);
  return {
    n: results.trades,
    excess: figure(excess / results.trades),
    total: trades.length,
    wins,
    losses,
    winrate: figure(winrate),
    avgPnl: figure(results.averagePnlPercent),
    bestPnl: figure(Math.max(0, results.bestPnlPercent ?? 0)),
    worstPnl: figure(results.worstPnlPercent),
  };
}

/** A figure with two decimals, never -0. It is 0 for `null` and for the result of a division by 0. */
function figure(value: number | null): number {
  return value === null || !Number.isFinite(value) ? 0 : Number(value.toFixed(2)) + 0;
}
