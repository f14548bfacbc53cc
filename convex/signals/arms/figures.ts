import { iso } from "../../lib/time";
import { differenceShown, ratio, statisticsOf } from "../statistics/figures";
import { DECISIVE } from "../statistics/inference";
import type { Totals } from "../statistics/rows";
import { storedExample, totalsExample } from "../views/examples";
import type { Lab } from "./history";
import type { ShadowLab } from "./shapes";

/** The lab as callers see it. Pure; `signals/statistics` explains how signals and days count. */

export function labView({ arms, asked, rivals, ...lab }: Lab): ShadowLab {
  const { writer } = lab;
  return {
    ...lab,
    arms: arms.map(({ arm, since, totals, againstWriter: seen, ...one }) => ({
      ...{ arm, ...one, since: iso(since), asked: asked.includes(arm), writes: arm === writer },
      ...figuresOf(totals),
      againstWriter: seen === null ? null : { writer, ...differenceShown(seen), needed: neededOf(rivals) },
    })),
  };
}

function figuresOf(totals: Totals) {
  const { n, wins, losses, holds, refusedDays, edge, beforeCosts, afterCosts, ...more } =
    statisticsOf(totals);
  const { trades: _, ...shown } = edge;
  const { brier, calibratedBrier } = more.calibration;
  return {
    ...{ n, holds, wins, losses, expired: more.expired - holds, missed: refusedDays },
    excessPoints: ratio(100 * totals.excess, n - holds),
    averageBeforeCostsPercent: beforeCosts.expectancyPercent,
    averageAfterCostsPercent: afterCosts.expectancyPercent,
    edge: shown,
    calibration: { n: more.calibration.n, brier, calibratedBrier },
  };
}

/** @param rivals How many arms have been compared with the one that writes. */
export function neededOf(rivals: number): number {
  return DECISIVE * Math.max(1, rivals);
}

const { model, promptVersion } = storedExample;

const example = { model, promptVersion: "signal-3", arm: `${model}@signal-3` };

/** An arm that has answered once, as the daily signals' example did. */
export const shadowLabExample = labView({
  ...{ writer: `${model}@${promptVersion}`, asked: [example.arm], rivals: 0, promotions: [] },
  arms: [{ ...example, since: Date.UTC(2026, 0, 5, 9, 11), totals: totalsExample, againstWriter: null }],
  head: { sequence: 2_892, hash: "7a".repeat(32) },
});
