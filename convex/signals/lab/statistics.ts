import { boundsShown, edgeShown } from "../edgeShown";
import { DECISIVE, type Blocks } from "../inference";
import { ratio } from "../ratios";
import type { ShadowArm } from "./shapes";
import { PAIR_UNIT, type ShadowTotals } from "./totals";

/** The figures of a shadow arm, from its totals and its days. Pure; how signals and days count is told in `signals/lab/totals`. */

export type ArmFigures = Omit<
  ShadowArm,
  "arm" | "model" | "promptVersion" | "since" | "asked" | "writes" | "againstWriter"
>;

/** @param totals One for each token. */
export function figuresOfArm(totals: readonly ShadowTotals[], blocks: Blocks): ArmFigures {
  const sum = (of: (one: ShadowTotals) => number) => totals.reduce((all, one) => all + of(one), 0);
  const wins = sum((one) => one.wins);
  const losses = sum((one) => one.losses);
  const expired = sum((one) => one.expired);
  const holds = sum((one) => one.holds);
  const priced = sum((one) => one.priced);
  const decided = wins + losses;
  return {
    n: decided + expired + holds,
    ...{ holds, wins, losses, expired, missed: sum((one) => one.missed) },
    excessPoints: ratio(100 * sum((one) => one.excess), decided + expired),
    averageBeforeCostsPercent: ratio(
      sum((one) => one.pnlSum),
      priced,
    ),
    averageAfterCostsPercent: ratio(
      sum((one) => one.pnlSum - one.costSum),
      priced,
    ),
    edge: edgeShown(blocks),
    calibration: {
      n: decided,
      brier: ratio(
        sum((one) => one.statedSquares),
        decided,
      ),
      calibratedBrier: ratio(
        sum((one) => one.calibratedSquares),
        decided,
      ),
    },
  };
}

/** What a pair's days say, in points of the difference. */
export function figuresOfPair(blocks: Blocks) {
  return boundsShown(blocks, PAIR_UNIT);
}

/** @param rivals How many arms have been held against the one that writes. */
export function neededOf(rivals: number): number {
  return DECISIVE * Math.max(1, rivals);
}
