import { HOUR } from "../../lib/time";
import { excessOf, hasGaps } from "../trade/edge";
import { LAB_TOKENS, positionOf, type Levels } from "../trade/rules";
import { addDay, type Blocks } from "./inference";

/**
 * Days of arms that are asked every hour, and of two of them against each other. Pure; `npm run verify-signals -- --shadow`
 * works with exactly this.
 *
 * Signals of neighbouring hours hang on the same minutes, and an arm knows how its earlier ones stand when it is asked for the
 * next. A day is therefore one observation of which nothing depends on how the day goes: the sum of the excess over chance of
 * all trades that were issued in its first 17 hours, divided by its 51 slots, whether there was a trade in them or not (who
 * stops after a win gains nothing by it). The last of these trades has ended, and has its price, before the next day begins,
 * so that no two observations share a minute: what `signals/statistics/inference` needs. Later trades count in every figure but this one.
 */

/** Slots of 00:00 to 16:00: issued before 17:00, expired before 23:00, priced by 23:35 at the latest. */
const COUNTED_HOURS = 17;
export const COUNTED_MS = COUNTED_HOURS * HOUR;
const SLOTS = COUNTED_HOURS * LAB_TOKENS.length;

/** A difference of two excesses lies within this; it is scaled to lie within what an excess may be. */
const GREATEST_DIFFERENCE = 1 + 5 / 9;
const SCALE = 5 / 9 / GREATEST_DIFFERENCE;

/** A closed signal of a day's counted hours. */
export type DayShadow = Levels & {
  /** Which hour and token: `2026-01-05T09:00:00.000Z BTC`. */
  slot: string;
  exitPrice: number | null;
  gapMinutes: number;
};

/** An arm's blocks with one more day. */
export function addArmDay(blocks: Blocks, day: readonly DayShadow[]): Blocks {
  const sum = day.reduce((total, one) => total + least(one), 0);
  return addDay(blocks, sum / SLOTS);
}

/**
 * The blocks of an arm against another with one more day: of the slots in which both have answered, each against the other
 * in the same hour, at the price of the same minutes. Where a path has gaps, it counts against the arm that is to be shown
 * better.
 */
export function addPairDay(blocks: Blocks, day: readonly DayShadow[], against: readonly DayShadow[]): Blocks {
  const others = new Map(against.map((one) => [one.slot, one]));
  let sum = 0;
  for (const one of day) {
    const other = others.get(one.slot);
    if (other !== undefined) sum += least(one) - most(other);
  }
  return addDay(blocks, (SCALE * sum) / SLOTS);
}

/** What a pair's blocks say is worth this much more in shares of an excess. */
export const PAIR_UNIT = 1 / SCALE;

/** A signal's excess, as little as it may be: 0 without a position. */
function least(one: DayShadow): number {
  const position = positionOf(one);
  return position === null ? 0 : excessOf(position, one);
}

/** The same as great as it may be. */
function most(one: DayShadow): number {
  const position = positionOf(one);
  if (position === null) return 0;
  const excess = excessOf(position, { ...one, gapMinutes: 0 });
  return hasGaps(one.gapMinutes) ? Math.max(0, excess) : excess;
}
