import type { Outcome } from "../trade/rows";
import { afterCosts, leastExcess, positionOf, type Levels } from "../trade/rules";
import { rounded, winrateOf } from "./figures";
import type { Standing } from "./shapes";

/** The results of a few signals, as reviews and recaps show them. Pure. */

type Standable = Levels &
  Partial<Pick<Outcome, "pnlPercent" | "exitPrice">> & {
    status: Outcome["status"] | "PENDING";
    costBps: number;
    gapMinutes: number;
    inDoubt?: boolean | undefined;
  };

export function standingOf(signals: readonly Standable[]): Standing {
  const count = (wanted: Standable["status"]) => signals.filter(({ status }) => status === wanted).length;
  const wins = count("WIN");
  const losses = count("LOSS");
  const results = resultsOf(signals);
  const net = signals.flatMap((one) => resultsOf([one]).map((pnl) => afterCosts(pnl, one.costBps)));
  const sum = (values: readonly number[]) =>
    rounded(
      values.reduce((total, value) => total + value, 0),
      6,
    );
  return {
    wins,
    losses,
    expired: count("EXPIRED"),
    pending: count("PENDING"),
    winrate: winrateOf(wins, losses),
    trades: results.length,
    totalPnlPercent: sum(results),
    totalAfterCostsPercent: sum(net),
    excessPoints: sum(signals.map((one) => 100 * (excessIn(one) ?? 0))),
  };
}

/** Score minus chance of a closed trade, -1 to 1; `null` if it is open or not a trade. */
export function excessIn(signal: Standable): number | null {
  const position = positionOf(signal);
  const { exitPrice, gapMinutes } = signal;
  return position === null || exitPrice === undefined
    ? null
    : leastExcess(position, { exitPrice, gapMinutes });
}

/** The results of those that have one, in percent and before costs. */
export function resultsOf(signals: readonly Pick<Standable, "pnlPercent">[]): number[] {
  return signals.flatMap(({ pnlPercent }) => (typeof pnlPercent === "number" ? [pnlPercent] : []));
}
