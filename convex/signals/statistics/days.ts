import { v, type Infer } from "convex/values";
import { HOUR } from "../../lib/time";
import { armPnl, ARMS, armTrades, type Arm, type TradeAndControls } from "../trade/controls";
import { excessOf, hasGaps, LAB_TOKENS, pnlPercent, positionOf, type Levels } from "../trade/rules";
import { addDay, NO_BLOCKS, type Blocks } from "./inference";

/** What the model's trades and those of the control arms come to, day by day. Pure. */

export const vBlocks = v.object({
  days: v.number(),
  sum: v.number(),
  squares: v.number(),
  cubes: v.number(),
  fourths: v.number(),
});

/** Sums of results in percentage points: of trades that ended at a price, before costs, and what these trades cost. */
const results = { trades: v.number(), pnlSum: v.number(), costSum: v.number() };

const vArm = v.object({ ...results, blocks: vBlocks });

export const vArms = v.object({
  model: vArm,
  coin: vArm,
  momentum: vArm,
  alwaysLong: vArm,
  buyAndHold: v.object(results),
});
export type Arms = Infer<typeof vArms>;

const NO_TRADES = { trades: 0, pnlSum: 0, costSum: 0 };
const NO_ARM = { ...NO_TRADES, blocks: NO_BLOCKS };
export const NO_ARMS: Arms = {
  ...{ model: NO_ARM, coin: NO_ARM, momentum: NO_ARM, alwaysLong: NO_ARM },
  buyAndHold: NO_TRADES,
};

/** A trade with its controls, and what getting in and out costs. */
export type DayTrade = TradeAndControls & { costBps: number };

/** The sums with one more day, of which every trade has ended. A day without trades adds nothing. */
export function addDayOfTrades(arms: Arms, trades: readonly DayTrade[]): Arms {
  const after = { ...arms };
  const excesses: Record<Arm, number[]> = { model: [], coin: [], momentum: [], alwaysLong: [] };
  for (const trade of trades) {
    const all = armTrades(trade);
    for (const arm of ARMS) {
      const one = all[arm];
      if (one === undefined) continue;
      excesses[arm].push(excessOf(one.position, one));
      after[arm] = { ...after[arm], ...withResult(after[arm], armPnl(one), trade.costBps) };
    }
    const { holdExitPrice } = trade.compared;
    const held = holdExitPrice === null ? null : pnlPercent("BUY", trade.position.entry, holdExitPrice);
    after.buyAndHold = withResult(after.buyAndHold, held, trade.costBps);
  }
  for (const arm of ARMS) {
    const [sum, n] = [excesses[arm].reduce((total, one) => total + one, 0), excesses[arm].length];
    if (n > 0) after[arm] = { ...after[arm], blocks: addDay(after[arm].blocks, sum / n) };
  }
  return after;
}

function withResult({ trades, pnlSum, costSum }: typeof NO_TRADES, pnl: number | null, costBps: number) {
  if (pnl === null) return { trades, pnlSum, costSum };
  return { trades: trades + 1, pnlSum: pnlSum + pnl, costSum: costSum + costBps / 100 };
}

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
