import { iso } from "../lib/time";
import { excessPointsOf, rounded } from "./record";
import { afterCosts, breakEvenOf, chanceOf, positionOf, signalId } from "./rules";
import type { PublicSignal } from "./shapes";
import type { Signal } from "./tables";

/** A signal as callers see it. Pure. */
export function signalView(row: Signal): PublicSignal {
  const { day: _, price: __, costBps, generatedAt, expiresAt, closedAt, ...shown } = row;
  const position = positionOf(row);
  const share = (value: number) => rounded(100 * value, 6);
  return {
    ...shown,
    id: signalId(row),
    timeframe: "1h",
    chancePercent: position === null ? null : share(chanceOf(position)),
    costPercent: costBps / 100,
    breakEvenPercent: position === null ? null : share(breakEvenOf(position, costBps)),
    generatedAt: iso(generatedAt),
    expiresAt: iso(expiresAt),
    ...(closedAt === undefined
      ? {}
      : {
          closedAt: iso(closedAt),
          afterCostsPercent: typeof row.pnlPercent === "number" ? afterCosts(row.pnlPercent, costBps) : null,
          excessPoints: excessPointsOf(row),
        }),
  };
}
