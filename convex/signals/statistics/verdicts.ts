import { boundsOf, DECISIVE, eValueOf, type Blocks } from "./inference";
import { ratio, rounded } from "./ratios";
import type { Edge } from "./shapes";

/** What days come to, as callers are told it: of the daily signals, of their controls and of the shadow arms alike. Pure. */

/** Beyond this an e-value says no more, and JSON cannot hold them all. */
const GREATEST_E = 1e12;

/** @param unit What a whole excess is, where it is not that of one trade from stop to target. */
export function boundsShown(blocks: Blocks, unit = 1): Omit<Edge, "trades" | "verdict"> {
  const { low, high } = boundsOf(blocks);
  return {
    days: blocks.days,
    excessPoints: ratio(100 * unit * blocks.sum, blocks.days),
    lowPoints: rounded(100 * unit * low),
    highPoints: rounded(100 * unit * high),
    eValue: eValueShown(blocks),
  };
}

export function eValueShown(blocks: Blocks): number {
  return rounded(Math.min(eValueOf(blocks), GREATEST_E));
}

/** The bounds with what they say in words. */
export function edgeShown(blocks: Blocks): Omit<Edge, "trades"> {
  const shown = boundsShown(blocks);
  const { eValue, highPoints } = shown;
  const verdict =
    eValue >= DECISIVE ? "better than chance" : highPoints < 0 ? "worse than chance" : "not told from chance";
  return { ...shown, verdict };
}

/** How a verdict reads in a sentence. */
export function verdictWords(verdict: Edge["verdict"]): string {
  return verdict === "not told from chance" ? "not distinguishable from chance" : verdict;
}
