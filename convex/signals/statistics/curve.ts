import { v, type ObjectType } from "convex/values";

/** The results of trades one after another, before or after costs, as a bounded row. Pure. Percentage points. */

const curveFields = {
  sum: v.number(),
  best: v.union(v.number(), v.null()),
  worst: v.union(v.number(), v.null()),
  /** Mean and sum of squared deviations from it, kept as Welford does, so that near-equal results lose no digits. */
  mean: v.number(),
  squaredDeviations: v.number(),
  /** Sum of the squares of the losing results. */
  squaredDownsides: v.number(),
  /** Sums of the results above and below zero; the losses' is positive. */
  grossProfit: v.number(),
  grossLoss: v.number(),
  /** The highest that the sum has been, and since when; it starts at 0, before the first trade. */
  peak: v.number(),
  peakAt: v.union(v.number(), v.null()),
  /** The deepest fall from a peak so far. */
  drawdown: v.union(
    v.object({ percent: v.number(), peakAt: v.union(v.number(), v.null()), troughAt: v.number() }),
    v.null(),
  ),
};

export const vCurve = v.object(curveFields);
export type Curve = ObjectType<typeof curveFields>;

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
