import type { Outcome } from "../trade/rows";
import {
  afterCosts,
  chanceOf,
  hasGaps,
  leastExcess,
  positionOf,
  type Direction,
  type Levels,
} from "../trade/rules";
import { addOutcome, noOutcomes, PERCENTS } from "./calibration";
import { NO_ARMS } from "./days";
import type { Calibrated, Curve, Totals } from "./rows";

/**
 * What a history of closed signals comes to, kept signal by signal: a bounded row however long the history is.
 * Pure; `signals/statistics/figures` turns it into the figures a caller sees.
 *
 * How signals count:
 * - BUY and SELL are trades. WIN and LOSS are decided trades: win rate, streaks and calibration are about these alone. An
 *   EXPIRED trade was closed at the price of that moment: it is neither won nor lost, a streak goes on behind it, and its
 *   result counts wherever results do, expectancy included. Without a price it is counted and has no result.
 * - HOLD takes no position and can only expire: it is counted, and is no trade.
 */

export const NO_RESULTS: Curve = {
  ...{ sum: 0, best: null, worst: null, mean: 0, squaredDeviations: 0, squaredDownsides: 0 },
  ...{ grossProfit: 0, grossLoss: 0, peak: 0, peakAt: null, drawdown: null },
};

/**
 * @param n How many results there are with this one.
 * @param at When the trade was closed, epoch ms.
 */
export function addResult(curve: Curve, result: number, n: number, at: number): Curve {
  const sum = curve.sum + result;
  const mean = curve.mean + (result - curve.mean) / n;
  const isPeak = sum > curve.peak;
  const fall = curve.peak - sum;
  const isDeepest = fall > (curve.drawdown?.percent ?? 0);
  return {
    sum,
    best: curve.best === null ? result : Math.max(curve.best, result),
    worst: curve.worst === null ? result : Math.min(curve.worst, result),
    mean,
    squaredDeviations: curve.squaredDeviations + (result - curve.mean) * (result - mean),
    squaredDownsides: curve.squaredDownsides + Math.min(0, result) ** 2,
    grossProfit: curve.grossProfit + Math.max(0, result),
    grossLoss: curve.grossLoss + Math.max(0, -result),
    peak: isPeak ? sum : curve.peak,
    peakAt: isPeak ? at : curve.peakAt,
    drawdown: isDeepest ? { percent: fall, peakAt: curve.peakAt, troughAt: at } : curve.drawdown,
  };
}

/** A signal as it closed. */
export type ClosedSignal = Pick<Outcome, "status" | "pnlPercent" | "gapMinutes" | "closedAt"> & {
  signal: Direction;
  costBps: number;
  /** Score minus chance, see `signals/trade/rules`; 0 for a HOLD. */
  excess: number;
  /** Of its geometry, 0 to 1; of a HOLD, which is not decided, 0.5. */
  chance: number;
  /** As stated, whole percent, and as calibrated before the signal was issued. */
  confidence: number;
  calibratedConfidence: number;
  /** From its issue to its end; left out: no time. */
  openMs?: number;
  /** An anchor held its issue before its outcome. Absent: none did. */
  isAnchored?: boolean;
};

/** A signal as its outcome closes it. A HOLD risks nothing and gains nothing. */
export function closedOf(
  signal: Levels &
    Pick<ClosedSignal, "costBps" | "confidence"> & { calibrated: Calibrated; generatedAt: number },
  outcome: Pick<Outcome, "status" | "exitPrice" | "pnlPercent" | "gapMinutes" | "closedAt">,
  isAnchored = false,
): ClosedSignal {
  const { costBps, confidence, calibrated } = signal;
  const position = positionOf(signal);
  return {
    ...{ ...outcome, signal: signal.signal, costBps, confidence, isAnchored },
    calibratedConfidence: calibrated.confidence,
    excess: position === null ? 0 : leastExcess(position, outcome),
    chance: position === null ? 0.5 : chanceOf(position),
    openMs: outcome.closedAt - signal.generatedAt,
  };
}

export function emptyTotals(): Totals {
  return {
    ...{ wins: 0, losses: 0, expired: 0, holds: 0, refused: 0, excess: 0, gapped: 0, gapMinutes: 0 },
    ...{ priced: 0, before: NO_RESULTS, after: NO_RESULTS, winSum: 0, lossSum: 0 },
    ...{ streak: null, longestWins: 0, longestLosses: 0 },
    ...noOutcomes(),
    skill: { n: 0, stated: 0, calibrated: 0, chance: 0 },
    logs: { n: 0, stated: 0, calibrated: 0, chance: 0 },
    held: { n: 0, ms: 0 },
    calibratedSquares: 0,
    anchored: 0,
    arms: NO_ARMS,
  };
}

/**
 * The totals with one more signal. Streaks and drawdown follow the order of the calls, so add signals as they close.
 * @throws RangeError for what no signal can close as: a HOLD that won, a decided trade without a PnL, a figure that is
 * not finite, a confidence that is no whole percent. Adding it would spoil the record for good.
 */
export function addClosed({ anchored, ...before }: Totals, closed: ClosedSignal): Totals {
  refuseImpossible(closed);
  const totals = { ...before, anchored: anchored + (closed.isAnchored === true ? 1 : 0) };
  const { signal, status, pnlPercent, gapMinutes, excess, openMs = 0 } = closed;
  const expired = totals.expired + (status === "EXPIRED" ? 1 : 0);
  if (signal === "HOLD") return { ...totals, expired, holds: totals.holds + 1 };
  const seen = {
    excess: totals.excess + excess,
    gapped: totals.gapped + (hasGaps(gapMinutes) ? 1 : 0),
    gapMinutes: totals.gapMinutes + gapMinutes,
  };
  const { n, ms } = totals.held;
  const open = { held: { n: n + 1, ms: ms + openMs } };
  const counted = {
    ...(pnlPercent === null ? totals : addPnl(totals, pnlPercent, closed)),
    ...{ ...seen, ...open },
  };
  if (status === "EXPIRED") return { ...counted, expired };
  return addDecided(counted, status, pnlPercent ?? 0, closed);
}

/** Of a percent that was given to what happened; none counts as less than half a percent. */
function logGiven(percent: number): number {
  return Math.log(Math.min(99.5, Math.max(0.5, percent)) / 100);
}

function refuseImpossible({ signal, status, pnlPercent, ...figures }: ClosedSignal): void {
  const { confidence, calibratedConfidence, costBps, gapMinutes, closedAt, excess } = figures;
  if (signal === "HOLD" && (status !== "EXPIRED" || pnlPercent !== null)) {
    throw new RangeError("A HOLD may only expire, without a PnL");
  }
  if (status !== "EXPIRED" && pnlPercent === null) throw new RangeError(`A ${status} has a PnL`);
  if (pnlPercent !== null && !Number.isFinite(pnlPercent)) throw new RangeError("A PnL is a finite number");
  if (!Number.isInteger(confidence) || confidence < 0 || confidence >= PERCENTS) {
    throw new RangeError("A confidence must be a whole percentage from 0 to 100");
  }
  if (!(calibratedConfidence >= 0 && calibratedConfidence <= 100)) {
    throw new RangeError("A calibrated confidence must be from 0 to 100");
  }
  if (!(costBps >= 0) || !(gapMinutes >= 0)) throw new RangeError("Costs and gaps must not be negative");
  if (!Number.isFinite(closedAt) || !Number.isFinite(excess)) {
    throw new RangeError("A closing time and an excess must be finite numbers");
  }
}

function addPnl(totals: Totals, pnl: number, { costBps, closedAt }: ClosedSignal): Totals {
  const priced = totals.priced + 1;
  return {
    ...totals,
    priced,
    before: addResult(totals.before, pnl, priced, closedAt),
    after: addResult(totals.after, afterCosts(pnl, costBps), priced, closedAt),
  };
}

function addDecided(
  totals: Totals,
  outcome: "WIN" | "LOSS",
  pnl: number,
  { confidence, calibratedConfidence, chance }: ClosedSignal,
): Totals {
  const won = outcome === "WIN" ? 1 : 0;
  const length = totals.streak?.outcome === outcome ? totals.streak.length + 1 : 1;
  const given = { stated: confidence, calibrated: calibratedConfidence, chance: 100 * chance };
  const square = (percent: number) => (percent / 100 - won) ** 2;
  const log = (percent: number) => logGiven(won === 1 ? percent : 100 - percent);
  return {
    ...totals,
    wins: totals.wins + won,
    losses: totals.losses + (1 - won),
    winSum: totals.winSum + (won === 1 ? pnl : 0),
    lossSum: totals.lossSum + (won === 1 ? 0 : pnl),
    streak: { outcome, length },
    longestWins: Math.max(totals.longestWins, won === 1 ? length : 0),
    longestLosses: Math.max(totals.longestLosses, won === 1 ? 0 : length),
    ...addOutcome(totals, { confidence, chance, isWin: won === 1 }),
    skill: addScores(totals.skill, given, square),
    logs: addScores(totals.logs, given, log),
    calibratedSquares: totals.calibratedSquares + square(calibratedConfidence),
  };
}

type Scores = Totals["skill"];

function addScores(
  { n, stated, calibrated, chance }: Scores,
  given: Omit<Scores, "n">,
  of: (percent: number) => number,
): Scores {
  return {
    ...{ n: n + 1, stated: stated + of(given.stated) },
    ...{ calibrated: calibrated + of(given.calibrated), chance: chance + of(given.chance) },
  };
}
