import { winrateOf } from "./statistics";
import type { Signal } from "./tables";

/** How a handful of signals stands: a day's, a week's. */
export type Standing = {
  wins: number;
  losses: number;
  expired: number;
  pending: number;
  /** 0 to 100; `null` when none was won or lost. */
  winrate: number | null;
  /** The sum of the results, in percent. */
  totalPnlPercent: number;
};

export function standingOf(signals: readonly Pick<Signal, "status" | "pnlPercent">[]): Standing {
  const count = (wanted: Signal["status"]) => signals.filter(({ status }) => status === wanted).length;
  const wins = count("WIN");
  const losses = count("LOSS");
  const total = resultsOf(signals).reduce((sum, pnl) => sum + pnl, 0);
  return {
    wins,
    losses,
    expired: count("EXPIRED"),
    pending: count("PENDING"),
    winrate: winrateOf(wins, losses),
    totalPnlPercent: Number(total.toFixed(6)) + 0,
  };
}

/** The results of those that have one, in percent. */
export function resultsOf(signals: readonly Pick<Signal, "pnlPercent">[]): number[] {
  return signals.flatMap(({ pnlPercent }) => (typeof pnlPercent === "number" ? [pnlPercent] : []));
}
