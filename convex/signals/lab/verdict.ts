import { DECISIVE, eValueOf, type Blocks } from "../inference";

/** What is said of an arm's days. Pure. */

/** Beyond this an e-value says no more, and JSON cannot hold them all. */
const GREATEST_E = 1e12;

export function eValueShown(blocks: Blocks): number {
  return Number(Math.min(eValueOf(blocks), GREATEST_E).toFixed(10)) + 0;
}

/** @param rivals How many arms have been held against the one that writes. */
export function neededOf(rivals: number): number {
  return DECISIVE * Math.max(1, rivals);
}
