import { boundsOf, DECISIVE, eValueOf, type Blocks } from "../inference";
import { ratio, rounded } from "../ratios";
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
  const edge = boundsShown(blocks, 1);
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
    edge: {
      ...edge,
      verdict:
        edge.eValue >= DECISIVE
          ? "better than chance"
          : edge.highPoints < 0
            ? "worse than chance"
            : "not told from chance",
    },
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

function boundsShown(blocks: Blocks, unit: number) {
  const { low, high } = boundsOf(blocks);
  return {
    days: blocks.days,
    excessPoints: ratio(100 * unit * blocks.sum, blocks.days),
    lowPoints: rounded(100 * unit * low),
    highPoints: rounded(100 * unit * high),
    eValue: eValueShown(blocks),
  };
}

/** Beyond this an e-value says no more, and JSON cannot hold them all. */
const GREATEST_E = 1e12;

export function eValueShown(blocks: Blocks): number {
  return Number(Math.min(eValueOf(blocks), GREATEST_E).toFixed(10)) + 0;
}

/** @param rivals How many arms have been held against the one that writes. */
export function neededOf(rivals: number): number {
  return DECISIVE * Math.max(1, rivals);
}
