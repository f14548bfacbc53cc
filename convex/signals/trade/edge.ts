import { type Position } from "./rules";
import { type Outcome } from "./path";

/**
 * What a trade has shown beyond the chance of its own geometry. Pure.
 *
 * A trade's score is where between its stop (0) and its first target (1) it ended: 1 for a WIN, 0 for a LOSS, a fraction
 * for one that expired between the two. Its chance is the score that a price without direction gives it on average. By
 * optional stopping that is risk / (risk + reward), whatever the volatility and the time limit: a near target and a far
 * stop are won often, and that alone shows nothing. Score minus chance has a mean of zero without an edge, before costs.
 */

/** More minutes than this without a candle, and an outcome may be anything. */
const MAX_GAP_MINUTES = 5;

/** 0 to 1; at most 1 / (1 + 0.8) by the rules of issue. */
export function chanceOf({ entry, tp1, sl }: Position): number {
  return Math.abs(entry - sl) / Math.abs(tp1 - sl);
}

/**
 * Score minus chance, -1 to 1; 0 for a trade that ended without a price. Where the path has gaps, a result better than
 * chance counts as chance: what nobody has seen is no ground for a claim.
 */
export function excessOf(
  position: Position,
  { exitPrice, gapMinutes }: Pick<Outcome, "exitPrice" | "gapMinutes">,
): number {
  if (exitPrice === null) return 0;
  const { tp1, sl } = position;
  const excess = (exitPrice - sl) / (tp1 - sl) - chanceOf(position);
  return hasGaps(gapMinutes) ? Math.min(0, excess) : excess;
}

export function hasGaps(gapMinutes: number): boolean {
  return gapMinutes > MAX_GAP_MINUTES;
}
