import * as z from "zod";
import { iso } from "../lib/time";
import type { Signal } from "./tables";
import { signalId } from "./views";

/** How results add up, signal by signal. Pure. */

export const equityPoint = z.object({
  id: z.string(),
  closedAt: z.iso.datetime(),
  pnlPercent: z.number(),
  sumPercent: z.number().describe("All results up to this one, in percentage points"),
  fallPercent: z
    .number()
    .nonnegative()
    .describe("How far that is below the highest sum shown before it, or 0"),
});
export type EquityPoint = z.output<typeof equityPoint>;

/**
 * The latest results in the order in which signals were closed.
 * @param totalPercent What all results come to, those before the given ones included.
 */
export function equityOf(signals: readonly Signal[], totalPercent: number): EquityPoint[] {
  const results = signals.flatMap((signal) => {
    const { pnlPercent, closedAt } = signal;
    const priced = typeof pnlPercent === "number" && closedAt !== undefined;
    return priced ? [{ id: signalId(signal), pnlPercent, closedAt }] : [];
  });
  const shown = results.reduce((sum, { pnlPercent }) => sum + pnlPercent, 0);
  let sum = totalPercent - shown;
  let highest = sum;
  return results
    .toSorted((a, b) => a.closedAt - b.closedAt)
    .map(({ id, pnlPercent, closedAt }) => {
      sum += pnlPercent;
      highest = Math.max(highest, sum);
      const points = { sumPercent: rounded(sum), fallPercent: rounded(highest - sum) };
      return { id, closedAt: iso(closedAt), pnlPercent, ...points };
    });
}

function rounded(value: number): number {
  return Number(value.toFixed(6)) + 0;
}
