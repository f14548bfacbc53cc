import * as z from "zod";
import { iso } from "../lib/time";
import { BINS, type Totals } from "./totals";

/** The figures of a signal history, from its totals. Pure; how each kind of signal counts is told in `signals/totals`. */

/** The 97.5 % quantile of the normal distribution: an interval of two of these holds 95 %. */
const Z95 = 1.959963984540054;

const count = z.int().nonnegative();
const percent = z.number();
const share = z.number().min(0).max(100);

const interval = z.object({ low: share, high: share });

const calibration = z.object({
  n: count.describe("WIN and LOSS signals it is about."),
  brier: z
    .number()
    .min(0)
    .max(1)
    .nullable()
    .describe(
      "Brier score of the confidence as the probability of a WIN: mean squared error, 0 perfect, 0.25 a coin toss.",
    ),
  bins: z
    .array(
      z.object({
        from: share,
        to: share,
        n: count,
        meanConfidence: share.nullable(),
        winrate: share.nullable(),
      }),
    )
    .describe(
      "By confidence, from (included) to (excluded, but 100): where the two figures agree, it is right.",
    ),
});

/**
 * The statistics of closed signals as `/mcp/signals/history` tells them. Percentages are numbers: 1.5 is 1.5 %.
 * Figures are rounded to six decimals.
 */
export const signalStats = z.object({
  n: count.describe("Closed signals, HOLD included."),
  wins: count,
  losses: count,
  expired: count.describe("Closed by age, HOLD included."),
  holds: count.describe("HOLD signals: no position, so they are in none of the figures below."),
  winrate: share.nullable().describe("wins / (wins + losses), 0 to 100; null when there are none."),
  winrateInterval: interval
    .extend({ n: count.describe("wins + losses.") })
    .nullable()
    .describe("95 % Wilson score interval of the win rate."),
  trades: count.describe("BUY and SELL signals with a PnL, expired ones at the live price included."),
  averagePnlPercent: percent.nullable(),
  bestPnlPercent: percent.nullable(),
  worstPnlPercent: percent.nullable(),
  totalPnlPercent: percent.describe(
    "Sum of the signed percentages: the same stake on every signal, gains not reinvested, no fees. Nothing compounds.",
  ),
  averageWinPercent: percent.nullable(),
  averageLossPercent: percent.nullable().describe("Negative."),
  expectancyPercent: percent
    .nullable()
    .describe(
      "What a decided signal brings on average: win share x average win + loss share x average loss.",
    ),
  profitFactor: z
    .number()
    .nonnegative()
    .nullable()
    .describe("Sum of the gains / sum of the losses over all trades; null without a losing trade."),
  maxDrawdown: z
    .object({
      percent: z.number().nonnegative().describe("Percentage points of the cumulative PnL."),
      peakAt: z.iso.datetime().nullable().describe("null: the fall began at 0, before the first trade."),
      troughAt: z.iso.datetime(),
    })
    .nullable()
    .describe("The deepest fall of the cumulative PnL from an earlier peak; null when it never fell."),
  sharpe: z
    .number()
    .nullable()
    .describe(
      "Per signal, not annualised, no risk-free rate: mean PnL / sample standard deviation. null below 2 trades or without deviation.",
    ),
  sortino: z
    .number()
    .nullable()
    .describe(
      "Per signal, target 0: mean PnL / root mean square of the losing results over all trades. null below 2 trades or without a losing one.",
    ),
  streaks: z
    .object({
      current: z.object({ outcome: z.enum(["WIN", "LOSS"]), length: count }).nullable(),
      longestWins: count,
      longestLosses: count,
    })
    .describe("Of WINs and LOSSes in closing order; an expired signal neither ends nor lengthens one."),
  calibration,
});

export type SignalStats = z.output<typeof signalStats>;

/** The figures of the totals; what is undefined for them (a rate of nothing, a ratio to zero) is `null`. */
export function statisticsOf(totals: Totals): SignalStats {
  const { wins, losses, priced } = totals;
  const decided = wins + losses;
  const drawdown = totals.drawdown;
  const deviation = priced < 2 ? 0 : Math.sqrt(totals.squaredDeviations / (priced - 1));
  const downside = priced < 2 ? 0 : Math.sqrt(totals.squaredDownsides / priced);
  return {
    n: decided + totals.expired,
    wins,
    losses,
    expired: totals.expired,
    holds: totals.holds,
    winrate: winrateOf(wins, losses),
    winrateInterval: decided === 0 ? null : { ...wilson(wins, decided), n: decided },
    trades: priced,
    averagePnlPercent: ratio(totals.pnlSum, priced),
    bestPnlPercent: totals.best === null ? null : rounded(totals.best),
    worstPnlPercent: totals.worst === null ? null : rounded(totals.worst),
    totalPnlPercent: rounded(totals.pnlSum),
    averageWinPercent: ratio(totals.winSum, wins),
    averageLossPercent: ratio(totals.lossSum, losses),
    expectancyPercent: ratio(totals.winSum + totals.lossSum, decided),
    profitFactor: ratio(totals.grossProfit, totals.grossLoss),
    maxDrawdown:
      drawdown === null
        ? null
        : {
            percent: rounded(drawdown.percent),
            peakAt: drawdown.peakAt === null ? null : iso(drawdown.peakAt),
            troughAt: iso(drawdown.troughAt),
          },
    sharpe: ratio(totals.mean, deviation),
    sortino: ratio(totals.mean, downside),
    streaks: {
      current: totals.streak,
      longestWins: totals.longestWins,
      longestLosses: totals.longestLosses,
    },
    calibration: {
      n: decided,
      brier: ratio(totals.brierSum, decided),
      bins: totals.bins.map(({ n, wins: won, confidenceSum }, index) => ({
        from: (index * 100) / BINS,
        to: ((index + 1) * 100) / BINS,
        n,
        meanConfidence: ratio(confidenceSum, n),
        winrate: ratio(won * 100, n),
      })),
    },
  };
}

/** wins / (wins + losses), 0 to 100; `null` when there are none. */
export function winrateOf(wins: number, losses: number): number | null {
  return ratio(wins * 100, wins + losses);
}

/** The Wilson score interval of `wins` in `n` at 95 %, in percent. `n` is at least 1. */
function wilson(wins: number, n: number): z.output<typeof interval> {
  const rate = wins / n;
  const square = Z95 ** 2;
  const centre = (rate + square / (2 * n)) / (1 + square / n);
  const half = (Z95 / (1 + square / n)) * Math.sqrt((rate * (1 - rate)) / n + square / (4 * n * n));
  // At 0 and at n wins one end is exactly 0 or 1; arithmetic may leave it a hair beside.
  return {
    low: wins === 0 ? 0 : rounded((centre - half) * 100),
    high: wins === n ? 100 : rounded((centre + half) * 100),
  };
}

function ratio(over: number, under: number): number | null {
  if (under === 0) return null;
  const value = over / under;
  return Number.isFinite(value) ? rounded(value) : null;
}

/** To six decimals, so that 0.1 + 0.2 reads 0.3; never -0. */
function rounded(value: number): number {
  return Number(value.toFixed(6)) + 0;
}
