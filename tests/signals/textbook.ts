import { statisticsOf } from "../../convex/signals/statistics/figures";
import type { ClosedSignal } from "../../convex/signals/statistics/totals";

/** The statistics of a record by their definitions, to hold the service's own against. */

/** The figures one by one, the order-dependent ones named so that they can be told apart. */
export function flat(stats: ReturnType<typeof statisticsOf>): Record<string, unknown> {
  const {
    n,
    wins,
    losses,
    expired,
    trades,
    winrate,
    beforeCosts,
    afterCosts,
    risk,
    streaks,
    calibration,
    gaps,
  } = stats;
  return {
    ...{ n, wins, losses, expired, trades, winrate },
    ...prefixed("before", beforeCosts),
    ...prefixed("after", afterCosts),
    ...{ sharpe: risk.sharpe, sortino: risk.sortino, gappedTrades: gaps.trades, gapMinutes: gaps.minutes },
    drawdown: risk.maxDrawdown?.percent ?? null,
    drawdownPeakAt: risk.maxDrawdown?.peakAt ?? null,
    streakCurrent: streaks.current,
    streakWins: streaks.longestWins,
    streakLosses: streaks.longestLosses,
    brier: calibration.brier,
    calibratedBrier: calibration.calibratedBrier,
    binned: calibration.bins.map(({ n: of, winrate: rate }) => [of, rate]),
  };
}

function prefixed(name: string, figures: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(figures).map(([key, value]) => [`${name} ${key}`, value]));
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
const mean = (values: readonly number[]) => (values.length === 0 ? null : sum(values) / values.length);

/** The same figures by their textbook definitions, from the whole history at once. */
export function batch(signals: readonly ClosedSignal[]): Record<string, unknown> {
  const trades = signals.filter(({ signal }) => signal !== "HOLD");
  const priced = trades.flatMap(({ pnlPercent, costBps }) =>
    pnlPercent === null ? [] : [{ pnlPercent, costBps }],
  );
  const gross = priced.map(({ pnlPercent }) => pnlPercent);
  // As the service states a result: to six decimals.
  const net = priced.map(({ pnlPercent, costBps }) => Number((pnlPercent - costBps / 100).toFixed(6)));
  const decided = trades.filter(({ status }) => status !== "EXPIRED");
  const won = decided.filter(({ status }) => status === "WIN");
  const runs = (outcome: string) =>
    decided
      .map(({ status }) => (status === outcome ? "x" : " "))
      .join("")
      .split(" ")
      .map(({ length }) => length);
  const brier = (of: (one: ClosedSignal) => number) =>
    mean(decided.map((one) => (of(one) / 100 - (one.status === "WIN" ? 1 : 0)) ** 2));
  return {
    n: signals.length,
    wins: won.length,
    losses: decided.length - won.length,
    expired: signals.filter(({ status }) => status === "EXPIRED").length,
    trades: priced.length,
    winrate: decided.length === 0 ? null : (100 * won.length) / decided.length,
    ...prefixed("before", resultsOf(gross)),
    ...prefixed("after", resultsOf(net)),
    ...ratiosOf(net),
    gappedTrades: trades.filter(({ gapMinutes }) => gapMinutes > 5).length,
    gapMinutes: sum(trades.map(({ gapMinutes }) => gapMinutes)),
    streakWins: Math.max(0, ...runs("WIN")),
    streakLosses: Math.max(0, ...runs("LOSS")),
    brier: brier(({ confidence }) => confidence),
    calibratedBrier: brier(({ calibratedConfidence }) => calibratedConfidence),
  };
}

function resultsOf(results: readonly number[]): Record<string, unknown> {
  const losses = -sum(results.filter((value) => value < 0));
  return {
    totalPnlPercent: sum(results),
    expectancyPercent: mean(results),
    bestPnlPercent: results.length === 0 ? null : Math.max(...results),
    worstPnlPercent: results.length === 0 ? null : Math.min(...results),
    // A quotient of rounding noise is none.
    ...(losses > 1e-4 ? { profitFactor: sum(results.filter((value) => value > 0)) / losses } : {}),
  };
}

function ratiosOf(results: readonly number[]): Record<string, unknown> {
  if (results.length < 30) return { sharpe: null, sortino: null, drawdown: null };
  const average = mean(results) ?? 0;
  const variance = sum(results.map((value) => (value - average) ** 2)) / (results.length - 1);
  const downside = Math.sqrt(
    sum(results.filter((value) => value < 0).map((value) => value ** 2)) / results.length,
  );
  return {
    ...(Math.sqrt(variance) > 1e-4 ? { sharpe: average / Math.sqrt(variance) } : {}),
    ...(downside > 1e-4 ? { sortino: average / downside } : {}),
    drawdown: deepestFall(results),
  };
}

/** Over every pair of moments: the largest fall from the earlier to the later. */
function deepestFall(results: readonly number[]): number | null {
  let total = 0;
  const curve = [0, ...results.map((value) => (total += value))];
  const falls = curve.flatMap((from, i) => curve.slice(i + 1).map((to) => from - to));
  const deepest = Math.max(0, ...falls);
  return deepest > 0 ? deepest : null;
}
