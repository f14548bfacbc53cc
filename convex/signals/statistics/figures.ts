import { many } from "../../lib/text/strings";
import { HOUR, iso } from "../../lib/time";
import { RECORD_FROM } from "../trade/rules";
import { NO_PAIRED, PAIR_UNIT } from "./days";
import type { Arms, Curve, Totals } from "./rows";
import {
  boundsOf,
  DECISIVE,
  DIFFERENCE_TERMS,
  eValueOf,
  LEAST_NET,
  type Blocks,
  type Seen,
} from "./inference";
import type { Edge, SignalStats } from "./shapes";

/**
 * The figures of a signal history, from its totals. Pure; `signals/statistics/totals` explains how each kind of signal
 * counts.
 */

/** Confidences in tenths: 0 to under 10, 10 to under 20, … 90 to 100. */
const BINS = 10;

/**
 * The figures of the totals; what is undefined for them (a rate of nothing, a ratio to zero) is `null`.
 * @param needed What e-values have to reach: more for one of several arms of the same owner.
 */
export function statisticsOf(totals: Totals, needed = DECISIVE): SignalStats {
  const { wins, losses, expired, holds, priced, held } = totals;
  const decided = wins + losses;
  const trades = decided + expired - holds;
  const edge = edgeOf(totals.arms.model, priced, needed);
  const afterCosts = resultOf(totals.after, priced);
  return {
    summary: summaryOf(totals, edge),
    n: decided + totals.expired,
    ...{ wins, losses, expired: totals.expired, holds: totals.holds, refusedDays: totals.refused },
    gaps: {
      ...{ trades: totals.gapped, minutes: totals.gapMinutes },
      sharePercent: ratio(100 * totals.gapped, trades),
    },
    edge,
    controls: controlsOf(totals.arms),
    paired: pairedOf(totals.arms),
    winrate: winrateOf(wins, losses),
    trades: priced,
    beforeCosts: resultOf(totals.before, priced),
    afterCosts,
    costsPercent: rounded(totals.before.sum - totals.after.sum),
    exposure: { hours: rounded(held.ms / HOUR), averageHours: ratio(held.ms / HOUR, held.n) },
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

/**
 * `59 trades: +0.42 % after costs; a coin flip −7.20 %. Too early to call it skill.` The coin's trades are those of
 * whole days, so both figures are about whole days.
 */
function summaryOf({ arms: { model, coin } }: Totals, { verdict }: Edge): string {
  if (model.trades === 0) return "No day of trades is over yet.";
  const after = ({ pnlSum, costSum }: typeof coin) => signedPercent(pnlSum - costSum);
  return `${many(model.trades, "trade")}: ${after(model)} after costs; a coin flip ${after(coin)}. ${VERDICT_WORDS[verdict].alone}.`;
}

function signedPercent(value: number): string {
  const shown = Math.abs(value).toFixed(2);
  if (shown === "0.00") return "0.00 %";
  return `${value > 0 ? "+" : "−"}${shown} %`;
}

/** @param results How many trades have one. */
function edgeOf({ trades, days }: Arms["model"], results: number, needed: number): Edge {
  const bounds = boundsShown(days);
  const afterCosts = { excessPoints: meanPoints(days.net), eValue: shown(eValueOf(days.net, LEAST_NET)) };
  return {
    trades,
    ...bounds,
    afterCosts,
    verdict: verdictOf(bounds, afterCosts.eValue, { results, needed }),
  };
}

/** The weaker of the results before and after costs. */
function verdictOf(
  { eValue, highPoints }: Pick<Edge, "eValue" | "highPoints">,
  afterCosts: number,
  { results, needed }: { results: number; needed: number },
): Edge["verdict"] {
  if (results < RECORD_FROM) return "no record yet";
  if (eValue >= needed) return afterCosts >= needed ? "better than chance" : "better before costs";
  return highPoints < 0 ? "worse than chance" : "not told from chance";
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

function pairedOf({ paired = NO_PAIRED }: Arms): SignalStats["paired"] {
  return { coin: differenceShown(paired.coin), alwaysLong: differenceShown(paired.alwaysLong) };
}

function armOf(arm: Arms["model"]) {
  const { eValue: _, ...bounds } = boundsShown(arm.days);
  return { ...averagesOf(arm), ...bounds };
}

function averagesOf({ trades, pnlSum, costSum }: { trades: number; pnlSum: number; costSum: number }) {
  return {
    trades,
    averageBeforeCostsPercent: ratio(pnlSum, trades),
    averageAfterCostsPercent: ratio(pnlSum - costSum, trades),
  };
}

function resultOf(curve: Curve, trades: number): SignalStats["beforeCosts"] {
  return {
    totalPnlPercent: rounded(curve.sum),
    expectancyPercent: ratio(curve.sum, trades),
    bestPnlPercent: curve.best === null ? null : rounded(curve.best),
    worstPnlPercent: curve.worst === null ? null : rounded(curve.worst),
    profitFactor: ratio(curve.grossProfit, curve.grossLoss),
  };
}

function riskOf({ mean, drawdown, ...curve }: Curve, n: number): SignalStats["risk"] {
  if (n < RECORD_FROM) return { n, sharpe: null, sortino: null, maxDrawdown: null };
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
  skill,
  logs,
}: Totals): SignalStats["calibration"] {
  const decided = wins + losses;
  const squares = stated.reduce((sum, n, percent) => {
    const k = won[percent] ?? 0;
    return sum + k * (percent / 100 - 1) ** 2 + (n - k) * (percent / 100) ** 2;
  }, 0);
  return {
    n: decided,
    brier: ratio(squares, decided),
    calibratedBrier: ratio(calibratedSquares, decided),
    ...skillsOf(skill),
    logScore: {
      ...{ n: logs.n, stated: ratio(logs.stated, logs.n) },
      ...{ calibrated: ratio(logs.calibrated, logs.n), chance: ratio(logs.chance, logs.n) },
    },
    bins: Array.from({ length: BINS }, (_, bin) => {
      const sum = (of: (percent: number) => number | undefined) =>
        stated.reduce((all, _n, percent) => all + (binOf(percent) === bin ? (of(percent) ?? 0) : 0), 0);
      const n = sum((percent) => stated[percent]);
      const confidences = sum((percent) => percent * (stated[percent] ?? 0));
      return {
        ...{ from: (bin * 100) / BINS, to: ((bin + 1) * 100) / BINS, n },
        meanConfidence: ratio(confidences, n),
        winrate: ratio(100 * sum((percent) => won[percent]), n),
      };
    }),
  };
}

/** 1 is perfect, 0 the levels' own chance, below 0 worse than it. */
function skillsOf({ n, stated, calibrated, chance }: Totals["skill"]) {
  const skill = (squares: number) => (n < RECORD_FROM ? null : ratio(chance - squares, chance));
  return { skill: skill(stated), calibratedSkill: skill(calibrated) };
}

function binOf(percent: number): number {
  return Math.min(BINS - 1, Math.floor((percent / 100) * BINS));
}

/** wins / (wins + losses), 0 to 100; `null` when there are none. */
export function winrateOf(wins: number, losses: number): number | null {
  return ratio(wins * 100, wins + losses);
}

/** `null` if there is nothing to divide by. */
export function ratio(over: number, under: number): number | null {
  if (under === 0) return null;
  const value = over / under;
  return Number.isFinite(value) ? rounded(value) : null;
}

/** Rounded to so many decimals, so that 0.1 + 0.2 is 0.3; never -0. */
export function rounded(value: number, decimals = 10): number {
  return Number(value.toFixed(decimals)) + 0;
}

/** Larger e-values say no more, and JSON cannot represent all of them. */
const GREATEST_E = 1e12;

type Bounds = Omit<Edge, "trades" | "afterCosts" | "verdict">;

/** @param days `most` is used only for the upper bound. */
function boundsShown(days: Seen): Bounds {
  return shownOf(days, boundsOf(days), eValueOf(days.least), 1);
}

/** The same of differences, in points of these. */
export function differenceShown(days: Seen): Bounds {
  const eValue = eValueOf(days.least, undefined, DIFFERENCE_TERMS);
  return shownOf(days, boundsOf(days, DIFFERENCE_TERMS), eValue, PAIR_UNIT);
}

/** @param unit The unit of a whole excess, if it is not that of one trade from stop to target. */
function shownOf({ least }: Seen, { low, high }: ReturnType<typeof boundsOf>, eValue: number, unit: number) {
  return {
    ...{ days: least.days, excessPoints: meanPoints(least, unit), eValue: shown(eValue) },
    ...{ lowPoints: rounded(100 * unit * low), highPoints: rounded(100 * unit * high) },
  };
}

function meanPoints({ sum, days }: Blocks, unit = 1): number | null {
  return ratio(100 * unit * sum, days);
}

function shown(eValue: number): number {
  return rounded(Math.min(eValue, GREATEST_E));
}

/** The words of a verdict inside a sentence, and as a sentence of its own. */
export const VERDICT_WORDS = {
  "no record yet": { within: "no record yet", alone: "Too early to call it anything" },
  "better than chance": {
    within: "better than chance, after costs too",
    alone: "Better than chance, after costs too",
  },
  "better before costs": {
    within: "better than chance, but not after costs",
    alone: "Better than chance, but not by what it costs",
  },
  "worse than chance": { within: "worse than chance", alone: "Worse than chance" },
  "not told from chance": {
    within: "not distinguishable from chance",
    alone: "Too early to call it skill",
  },
} as const satisfies Record<Edge["verdict"], { within: string; alone: string }>;
