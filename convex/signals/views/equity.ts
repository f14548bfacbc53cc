import * as z from "zod";
import type { Arms } from "../statistics/days";
import { rounded } from "../statistics/ratios";
import type { PublicSignal } from "./shapes";

/** How results add up, trade by trade, beside those of the control arms. Pure. Percentage points, after costs. */

const sum = z.number();

export const equityPoint = z.object({
  id: z.string(),
  closedAt: z.iso.datetime(),
  afterCostsPercent: z.number(),
  sumPercent: sum.describe("This result and those of all trades of the record before it"),
  fallPercent: z
    .number()
    .nonnegative()
    .describe("How far the sum is below the highest of those shown before it, or 0"),
  controls: z
    .object({ coin: sum, momentum: sum, alwaysLong: sum, buyAndHold: sum })
    .describe(
      "The sums of the control arms, from the first trade of the record on as well; a trade whose controls are not known yet adds nothing to them",
    ),
});
export type EquityPoint = z.output<typeof equityPoint>;

export const ARM_NAMES = ["coin", "momentum", "alwaysLong", "buyAndHold"] as const;
export type ArmName = (typeof ARM_NAMES)[number];

/** What a record comes to as a whole: sums of results after costs. */
type Whole = {
  /** Of all its trades. */
  sum: number;
  /** Of the control arms; they count whole days. */
  arms: Arms;
  /** The days that the arms count, `2026-01-05`, as far back as the signals go. */
  counted: readonly string[];
};

/**
 * The trades among the newest signals of a record in the order in which they were closed, added up from its first trade on:
 * the sums that a point says stay, whatever comes later.
 */
export function equityOf(
  signals: readonly PublicSignal[],
  { sum: whole, arms, counted }: Whole,
): EquityPoint[] {
  const closed = signals.flatMap(({ id, closedAt, afterCostsPercent, controls, generatedAt }) => {
    if (closedAt === undefined) return [];
    const isCounted = counted.includes(generatedAt.slice(0, "2026-01-05".length));
    return [{ id, closedAt, afterCostsPercent: afterCostsPercent ?? null, controls, isCounted }];
  });
  let total = whole - closed.reduce((all, one) => all + (one.afterCostsPercent ?? 0), 0);
  const shown = closed.filter(({ isCounted }) => isCounted);
  const sums = ofEachArm((arm) => {
    const own = shown.reduce((all, { controls }) => all + (controls?.[arm]?.afterCostsPercent ?? 0), 0);
    return arms[arm].pnlSum - arms[arm].costSum - own;
  });
  let highest = Math.max(0, total);
  return closed
    .toSorted((a, b) => Date.parse(a.closedAt) - Date.parse(b.closedAt))
    .flatMap(({ id, closedAt, afterCostsPercent, controls }) => {
      for (const arm of ARM_NAMES) sums[arm] += controls?.[arm]?.afterCostsPercent ?? 0;
      if (afterCostsPercent === null) return [];
      total += afterCostsPercent;
      highest = Math.max(highest, total);
      return [
        {
          ...{ id, closedAt, afterCostsPercent },
          sumPercent: rounded(total, 6),
          fallPercent: rounded(highest - total, 6),
          controls: ofEachArm((arm) => rounded(sums[arm], 6)),
        },
      ];
    });
}

function ofEachArm(of: (arm: ArmName) => number): Record<ArmName, number> {
  return {
    ...{ coin: of("coin"), momentum: of("momentum") },
    ...{ alwaysLong: of("alwaysLong"), buyAndHold: of("buyAndHold") },
  };
}
