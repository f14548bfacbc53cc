import { ratio, statisticsOf } from "../statistics/figures";
import { DECISIVE } from "../statistics/inference";
import type { Totals } from "../statistics/totals";
import { storedExample, totalsExample } from "../views/examples";
import type { ShadowArm, ShadowLab } from "./shapes";

/** The figures of a shadow arm, from its totals. Pure; how signals and days count is told in `signals/statistics`. */

export type ArmFigures = Omit<
  ShadowArm,
  "arm" | "model" | "promptVersion" | "since" | "asked" | "writes" | "againstWriter"
>;

export function figuresOfArm(totals: Totals): ArmFigures {
  const { n, wins, losses, holds, refusedDays, edge, beforeCosts, afterCosts, ...told } =
    statisticsOf(totals);
  const { trades: _, ...shown } = edge;
  const { brier, calibratedBrier } = told.calibration;
  return {
    ...{ n, holds, wins, losses, expired: told.expired - holds, missed: refusedDays },
    excessPoints: ratio(100 * totals.excess, n - holds),
    averageBeforeCostsPercent: beforeCosts.expectancyPercent,
    averageAfterCostsPercent: afterCosts.expectancyPercent,
    edge: shown,
    calibration: { n: told.calibration.n, brier, calibratedBrier },
  };
}

/** @param rivals How many arms have been held against the one that writes. */
export function neededOf(rivals: number): number {
  return DECISIVE * Math.max(1, rivals);
}

const { model, promptVersion } = storedExample;

/** An arm that has answered once, as the daily signals' example did. */
export const shadowLabExample: ShadowLab = {
  writer: `${model}@${promptVersion}`,
  arms: [
    {
      ...{ arm: `${model}@signal-3`, model, promptVersion: "signal-3", since: "2026-01-05T09:11:00.000Z" },
      ...{ asked: true, writes: false, ...figuresOfArm(totalsExample), againstWriter: null },
    },
  ],
  promotions: [],
  head: { sequence: 2_892, hash: "7a".repeat(32) },
};
