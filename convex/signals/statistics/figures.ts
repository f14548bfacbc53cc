import * as z from "zod";
import { iso } from "../../lib/time";
import type { Arms } from "./days";
import type { Curve } from "./curve";
import { edgeShown } from "./verdicts";
import type { Blocks } from "./inference";
import { ratio, rounded, winrateOf } from "./ratios";
import { BINS, calibration, result, risk, type Edge, type SignalStats } from "./shapes";
import type { Totals } from "./totals";

/** The figures of a signal history, from its totals. Pure; how each kind of signal counts is told in `signals/statistics/totals`. */

/** Ratios and drawdowns of fewer trades than this say nothing. */
const RISK_FROM = 30;

/** The figures of the totals; what is undefined for them (a rate of nothing, a ratio to zero) is `null`. */
export function statisticsOf(totals: Totals): SignalStats {
  const { wins, losses, priced } = totals;
  const decided = wins + losses;
  return {
    n: decided + totals.expired,
    ...{ wins, losses, expired: totals.expired, holds: totals.holds, refusedDays: totals.refused },
    gaps: { trades: totals.gapped, minutes: totals.gapMinutes },
    edge: edgeOf(totals.arms.model),
    controls: controlsOf(totals.arms),
    winrate: winrateOf(wins, losses),
    trades: priced,
    beforeCosts: resultOf(totals.before, priced),
    afterCosts: resultOf(totals.after, priced),
    averageWinPercent: ratio(totals.winSum, wins),
    averageLossPercent: ratio(totals.lossSum, losses),
    risk: riskOf(totals.after, priced),
    streaks: {
      current: totals.streak,
      longestWins: totals.longestWins,
      longestLosses: totals.longestLosses,
    },
    calibration: calibrationOf(totals),
  };
}

function edgeOf({ trades, blocks }: { trades: number; blocks: Blocks }): Edge {
  return { trades, ...edgeShown(blocks) };
}

function controlsOf({ model, coin, momentum, alwaysLong, buyAndHold }: Arms): SignalStats["controls"] {
  return {
    model: armOf(model),
    coin: armOf(coin),
    momentum: armOf(momentum),
    alwaysLong: armOf(alwaysLong),
    buyAndHold: averagesOf(buyAndHold),
  };
}

function armOf(arm: Arms["model"]) {
  const { excessPoints, lowPoints, highPoints } = edgeOf(arm);
  return { ...averagesOf(arm), days: arm.blocks.days, excessPoints, lowPoints, highPoints };
}

function averagesOf({ trades, pnlSum, costSum }: { trades: number; pnlSum: number; costSum: number }) {
  return {
    trades,
    averageBeforeCostsPercent: ratio(pnlSum, trades),
    averageAfterCostsPercent: ratio(pnlSum - costSum, trades),
  };
}

function resultOf(curve: Curve, trades: number): z.output<typeof result> {
  return {
    totalPnlPercent: rounded(curve.sum),
    expectancyPercent: ratio(curve.sum, trades),
    bestPnlPercent: curve.best === null ? null : rounded(curve.best),
    worstPnlPercent: curve.worst === null ? null : rounded(curve.worst),
    profitFactor: ratio(curve.grossProfit, curve.grossLoss),
  };
}

function riskOf({ mean, drawdown, ...curve }: Curve, n: number): z.output<typeof risk> {
  if (n < RISK_FROM) return { n, sharpe: null, sortino: null, maxDrawdown: null };
  return {
    n,
    sharpe: ratio(mean, Math.sqrt(curve.squaredDeviations / (n - 1))),
    sortino: ratio(mean, Math.sqrt(curve.squaredDownsides / n)),
    maxDrawdown:
      drawdown === null
        ? null
        : {
            percent: rounded(drawdown.percent),
            peakAt: drawdown.peakAt === null ? null : iso(drawdown.peakAt),
            troughAt: iso(drawdown.troughAt),
          },
  };
}

function calibrationOf({
  wins,
  losses,
  stated,
  won,
  calibratedSquares,
}: Totals): z.output<typeof calibration> {
  const decided = wins + losses;
  const squares = stated.reduce((sum, n, percent) => {
    const k = won[percent] ?? 0;
    return sum + k * (percent / 100 - 1) ** 2 + (n - k) * (percent / 100) ** 2;
  }, 0);
  return {
    n: decided,
    brier: ratio(squares, decided),
    calibratedBrier: ratio(calibratedSquares, decided),
    bins: Array.from({ length: BINS }, (_, bin) => {
      const percents = stated.map((_n, percent) => percent).filter((percent) => binOf(percent) === bin);
      const sum = (of: (percent: number) => number) =>
        percents.reduce((total, percent) => total + of(percent), 0);
      const n = sum((percent) => stated[percent] ?? 0);
      return {
        from: (bin * 100) / BINS,
        to: ((bin + 1) * 100) / BINS,
        n,
        meanConfidence: ratio(
          sum((percent) => percent * (stated[percent] ?? 0)),
          n,
        ),
        winrate: ratio(100 * sum((percent) => won[percent] ?? 0), n),
      };
    }),
  };
}

function binOf(percent: number): number {
  return Math.min(BINS - 1, Math.floor((percent / 100) * BINS));
}
