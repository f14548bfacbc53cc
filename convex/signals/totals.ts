import { v, type ObjectType } from "convex/values";

/**
 * What a history of closed signals comes to, kept signal by signal: a bounded row however long the history is.
 * Pure; `signals/statistics` turns it into the figures a caller sees.
 *
 * How signals count:
 * - BUY and SELL are trades. WIN and LOSS are decided trades: win rate, expectancy, streaks and calibration are about
 *   these alone. An EXPIRED trade was closed at the live price: its PnL counts wherever PnL does, but it is neither won
 *   nor lost, and a streak goes on behind it. Without a price it is counted and adds no PnL.
 * - HOLD takes no position and can only expire: it is counted, and is no trade.
 */

/** A signal as it closed. */
export type ClosedSignal = {
  signal: "BUY" | "SELL" | "HOLD";
  status: "WIN" | "LOSS" | "EXPIRED";
  /** Percent of the stake, signed by direction; `null` for HOLD and for a trade that expired without a price. */
  pnlPercent: number | null;
  /** 0 to 100. */
  confidence: number;
  /** Epoch ms. */
  closedAt: number;
};

/** Confidences in tenths: 0 to under 10, 10 to under 20, … 90 to 100. */
export const BINS = 10;

const vOutcome = v.union(v.literal("WIN"), v.literal("LOSS"));

/** The totals as a row's fields. Sums are of percentages, in percentage points. */
export const totalsFields = {
  wins: v.number(),
  losses: v.number(),
  /** EXPIRED ones, HOLD included. */
  expired: v.number(),
  holds: v.number(),

  /** Signals with a PnL; the figures down to `lossSum` are of these. */
  priced: v.number(),
  pnlSum: v.number(),
  best: v.union(v.number(), v.null()),
  worst: v.union(v.number(), v.null()),
  /** Mean and sum of squared deviations from it, kept as Welford does, so that near-equal results lose no digits. */
  mean: v.number(),
  squaredDeviations: v.number(),
  /** Sum of the squares of the losing results. */
  squaredDownsides: v.number(),
  /** Sums of the results above and below zero, whatever their status; the losses' is positive. */
  grossProfit: v.number(),
  grossLoss: v.number(),
  /** Sums of what WINs and what LOSSes brought. */
  winSum: v.number(),
  lossSum: v.number(),

  /** The highest that the cumulative PnL has been, and since when; it starts at 0, before the first signal. */
  peak: v.number(),
  peakAt: v.union(v.number(), v.null()),
  /** The deepest fall from a peak so far. */
  drawdown: v.union(
    v.object({ percent: v.number(), peakAt: v.union(v.number(), v.null()), troughAt: v.number() }),
    v.null(),
  ),

  streak: v.union(v.object({ outcome: vOutcome, length: v.number() }), v.null()),
  longestWins: v.number(),
  longestLosses: v.number(),

  /** Sum over decided trades of (confidence / 100 - outcome)², an outcome being 1 for WIN and 0 for LOSS. */
  brierSum: v.number(),
  /** Decided trades by confidence; `BINS` of them. */
  bins: v.array(v.object({ n: v.number(), wins: v.number(), confidenceSum: v.number() })),
};

export type Totals = ObjectType<typeof totalsFields>;

export function emptyTotals(): Totals {
  return {
    wins: 0,
    losses: 0,
    expired: 0,
    holds: 0,
    priced: 0,
    pnlSum: 0,
    best: null,
    worst: null,
    mean: 0,
    squaredDeviations: 0,
    squaredDownsides: 0,
    grossProfit: 0,
    grossLoss: 0,
    winSum: 0,
    lossSum: 0,
    peak: 0,
    peakAt: null,
    drawdown: null,
    streak: null,
    longestWins: 0,
    longestLosses: 0,
    brierSum: 0,
    bins: Array.from({ length: BINS }, () => ({ n: 0, wins: 0, confidenceSum: 0 })),
  };
}

/**
 * The totals with one more signal. Streaks and drawdown follow the order of the calls, so add signals as they close.
 * @throws RangeError for what no signal can close as: a HOLD that won, a decided trade without a PnL, a figure that is
 * not finite, a confidence outside 0 to 100. Adding it would spoil the record for good.
 */
export function addClosed(totals: Totals, closed: ClosedSignal): Totals {
  refuseImpossible(closed);
  const { signal, status, pnlPercent } = closed;
  const expired = totals.expired + (status === "EXPIRED" ? 1 : 0);
  if (signal === "HOLD") return { ...totals, expired, holds: totals.holds + 1 };
  const counted = pnlPercent === null ? totals : addPnl(totals, pnlPercent, closed.closedAt);
  if (status === "EXPIRED") return { ...counted, expired };
  return addDecided(counted, status, pnlPercent ?? 0, closed.confidence);
}

function refuseImpossible({ signal, status, pnlPercent, confidence, closedAt }: ClosedSignal): void {
  if (signal === "HOLD" && (status !== "EXPIRED" || pnlPercent !== null)) {
    throw new RangeError("A HOLD takes no position: it only expires, and without a PnL");
  }
  if (status !== "EXPIRED" && pnlPercent === null) throw new RangeError(`A ${status} has a PnL`);
  if (pnlPercent !== null && !Number.isFinite(pnlPercent)) throw new RangeError("A PnL is a finite number");
  if (!(confidence >= 0 && confidence <= 100)) throw new RangeError("A confidence is 0 to 100");
  if (!Number.isFinite(closedAt)) throw new RangeError("A closing time is a finite number");
}

function addPnl(totals: Totals, pnl: number, closedAt: number): Totals {
  const priced = totals.priced + 1;
  const pnlSum = totals.pnlSum + pnl;
  const mean = totals.mean + (pnl - totals.mean) / priced;
  const isPeak = pnlSum > totals.peak;
  const fall = totals.peak - pnlSum;
  const isDeepest = fall > (totals.drawdown?.percent ?? 0);
  return {
    ...totals,
    priced,
    pnlSum,
    best: totals.best === null ? pnl : Math.max(totals.best, pnl),
    worst: totals.worst === null ? pnl : Math.min(totals.worst, pnl),
    mean,
    squaredDeviations: totals.squaredDeviations + (pnl - totals.mean) * (pnl - mean),
    squaredDownsides: totals.squaredDownsides + Math.min(0, pnl) ** 2,
    grossProfit: totals.grossProfit + Math.max(0, pnl),
    grossLoss: totals.grossLoss + Math.max(0, -pnl),
    peak: isPeak ? pnlSum : totals.peak,
    peakAt: isPeak ? closedAt : totals.peakAt,
    drawdown: isDeepest ? { percent: fall, peakAt: totals.peakAt, troughAt: closedAt } : totals.drawdown,
  };
}

function addDecided(totals: Totals, outcome: "WIN" | "LOSS", pnl: number, confidence: number): Totals {
  const won = outcome === "WIN" ? 1 : 0;
  const length = totals.streak?.outcome === outcome ? totals.streak.length + 1 : 1;
  const bin = Math.min(BINS - 1, Math.floor((confidence / 100) * BINS));
  return {
    ...totals,
    wins: totals.wins + won,
    losses: totals.losses + (1 - won),
    winSum: totals.winSum + (won === 1 ? pnl : 0),
    lossSum: totals.lossSum + (won === 1 ? 0 : pnl),
    streak: { outcome, length },
    longestWins: Math.max(totals.longestWins, won === 1 ? length : 0),
    longestLosses: Math.max(totals.longestLosses, won === 1 ? 0 : length),
    brierSum: totals.brierSum + (confidence / 100 - won) ** 2,
    bins: totals.bins.map((one, index) =>
      index === bin
        ? { n: one.n + 1, wins: one.wins + won, confidenceSum: one.confidenceSum + confidence }
        : one,
    ),
  };
}
