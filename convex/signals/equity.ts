import * as z from "zod";
import type { PublicSignal } from "./shapes";

/** How results add up, trade by trade, beside those of the control arms. Pure. Percentage points, after costs. */

const sum = z.number();

export const equityPoint = z.object({
  id: z.string(),
  closedAt: z.iso.datetime(),
  afterCostsPercent: z.number(),
  sumPercent: sum.describe("This result and those of the trades before it"),
  fallPercent: z.number().nonnegative().describe("How far the sum is below the highest before it, or 0"),
  controls: z
    .object({ coin: sum, momentum: sum, alwaysLong: sum, buyAndHold: sum })
    .describe("The sums of the control arms; a trade whose controls are not known yet adds nothing to them"),
});
export type EquityPoint = z.output<typeof equityPoint>;

export const ARM_NAMES = ["coin", "momentum", "alwaysLong", "buyAndHold"] as const;
export type ArmName = (typeof ARM_NAMES)[number];

/** The trades among these signals in the order in which they were closed, added up from 0. */
export function equityOf(signals: readonly PublicSignal[]): EquityPoint[] {
  const trades = signals.flatMap(({ id, closedAt, afterCostsPercent, controls }) =>
    closedAt === undefined || typeof afterCostsPercent !== "number"
      ? []
      : [{ id, closedAt, afterCostsPercent, controls }],
  );
  const sums: Record<ArmName, number> = { coin: 0, momentum: 0, alwaysLong: 0, buyAndHold: 0 };
  let total = 0;
  let highest = 0;
  return trades
    .toSorted((a, b) => Date.parse(a.closedAt) - Date.parse(b.closedAt))
    .map(({ controls, ...trade }) => {
      total += trade.afterCostsPercent;
      highest = Math.max(highest, total);
      for (const arm of ARM_NAMES) sums[arm] += controls?.[arm]?.afterCostsPercent ?? 0;
      const { coin, momentum, alwaysLong, buyAndHold } = sums;
      return {
        ...trade,
        sumPercent: rounded(total),
        fallPercent: rounded(highest - total),
        controls: {
          coin: rounded(coin),
          momentum: rounded(momentum),
          alwaysLong: rounded(alwaysLong),
          buyAndHold: rounded(buyAndHold),
        },
      };
    });
}

function rounded(value: number): number {
  return Number(value.toFixed(6)) + 0;
}
