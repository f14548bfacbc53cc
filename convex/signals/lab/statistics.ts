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
  const sum = (figure: Exclude<keyof ShadowTotals, "outcomes">) =>
    totals.reduce((all, one) => all + one[figure], 0);
  const [wins, losses, expired, holds] = [sum("wins"), sum("losses"), sum("expired"), sum("holds")];
  const priced = sum("priced");
  const decided = wins + losses;
  return {
    n: decided + expired + holds,
    ...{ holds, wins, losses, expired, missed: sum("missed") },
    excessPoints: ratio(100 * sum("excess"), decided + expired),
    averageBeforeCostsPercent: ratio(sum("pnlSum"), priced),
    averageAfterCostsPercent: ratio(sum("pnlSum") - sum("costSum"), priced),
    edge: edgeShown(blocks),
    calibration: {
      n: decided,
      brier: ratio(sum("statedSquares"), decided),
      calibratedBrier: ratio(sum("calibratedSquares"), decided),
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
