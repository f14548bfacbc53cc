import type * as z from "zod";
import { resultsOf, standingOf } from "../signals/model";
import type { Signal } from "../signals/tables";
import type { trackRecord } from "./views";

/** How the signals of a window ended, in the figures of earlier clients. Pure. */

export function trackRecordView(signals: readonly Signal[]): z.output<typeof trackRecord> {
  const trades = signals.filter(({ signal, status }) => signal !== "HOLD" && status !== "PENDING");
  const { wins, losses, winrate, excessPoints } = standingOf(trades);
  const results = resultsOf(trades);
  const average = results.reduce((sum, one) => sum + one, 0) / results.length;
  return {
    n: results.length,
    excess: figure(excessPoints / results.length),
    total: trades.length,
    wins,
    losses,
    winrate: figure(winrate),
    avgPnl: figure(average),
    bestPnl: figure(Math.max(0, ...results)),
    worstPnl: figure(Math.min(...results)),
  };
}

/** A figure with two decimals, never -0. It is 0 for `null` and for the result of a division by 0. */
function figure(value: number | null): number {
  return value === null || !Number.isFinite(value) ? 0 : Number(value.toFixed(2)) + 0;
}
