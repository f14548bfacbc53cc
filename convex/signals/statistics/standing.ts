import type { Comparison, Side } from "../trade/controls";
import { excessOf } from "../trade/edge";
import type { Outcome } from "../trade/path";
import { afterCosts, positionOf, type Levels } from "../trade/rules";
import type { DayTrade } from "./days";
import { winrateOf } from "./ratios";
import type { Standing } from "./shapes";

/** How signals stand. */

type Standable = Levels &
  Partial<Pick<Outcome, "pnlPercent" | "exitPrice">> & {
    status: Outcome["status"] | "PENDING";
    costBps: number;
    gapMinutes: number;
  };

export function standingOf(signals: readonly Standable[]): Standing {
  const count = (wanted: Standable["status"]) => signals.filter(({ status }) => status === wanted).length;
  const wins = count("WIN");
  const losses = count("LOSS");
  const results = resultsOf(signals);
  const sum = (values: readonly number[]) =>
    Number(values.reduce((total, value) => total + value, 0).toFixed(6)) + 0;
  return {
    wins,
    losses,
    expired: count("EXPIRED"),
    pending: count("PENDING"),
    winrate: winrateOf(wins, losses),
    trades: results.length,
    totalPnlPercent: sum(results),
    totalAfterCostsPercent: sum(netResultsOf(signals)),
    excessPoints: sum(signals.map((one) => 100 * (excessIn(one) ?? 0))),
  };
}

/** Score minus chance of a closed trade, -1 to 1; `null` for what is open, or none. */
export function excessIn(signal: Standable): number | null {
  const position = positionOf(signal);
  const { exitPrice, gapMinutes } = signal;
  return position === null || exitPrice === undefined ? null : excessOf(position, { exitPrice, gapMinutes });
}

/** A signal as a trade with its controls; `null` for a HOLD, and until all of it has ended. */
export function dayTradeOf(
  signal: Standable & { coin: Side | null; momentum: Side | null; compared?: Comparison },
): DayTrade | null {
  const { exitPrice, gapMinutes, coin, momentum, compared, costBps } = signal;
  const position = positionOf(signal);
  if (position === null || exitPrice === undefined || compared === undefined || coin === null) return null;
  return { position, coin, momentum, exitPrice, gapMinutes, compared, costBps };
}

/** The results of those that have one, in percent and before costs. */
export function resultsOf(signals: readonly Pick<Standable, "pnlPercent">[]): number[] {
  return signals.flatMap(({ pnlPercent }) => (typeof pnlPercent === "number" ? [pnlPercent] : []));
}

function netResultsOf(signals: readonly Pick<Standable, "pnlPercent" | "costBps">[]): number[] {
  return signals.flatMap(({ pnlPercent, costBps }) =>
    typeof pnlPercent === "number" ? [afterCosts(pnlPercent, costBps)] : [],
  );
}
