import type { Infer, ObjectType } from "convex/values";
import { HOUR } from "../../lib/time";
import { armPnl, ARMS, type ArmTrade, type DayTrade } from "../trade/controls";
import {
  breakEvenOf,
  LAB_TOKENS,
  leastExcess,
  mostExcess,
  positionOf,
  type Ending,
  type LabToken,
  type Levels,
} from "../trade/rules";
import type { Arms, Days, pairFields, vArm, vEarlierArm, vKeptArms } from "./rows";
import { addDay, LEAST_NET, NO_BLOCKS, type Seen } from "./inference";

/** The results of the model's trades and of the control arms, day by day. Pure. */

/** The rivals with which each trade of the model is compared, like a pair of arms of the lab. */
const RIVALS = ["coin", "alwaysLong"] as const;

const NO_TRADES = { trades: 0, pnlSum: 0, costSum: 0 };
export const NO_SEEN: Seen = { least: NO_BLOCKS, most: NO_BLOCKS };
export const NO_PAIRED = { coin: NO_SEEN, alwaysLong: NO_SEEN };
export const NO_DAYS: Days = { ...NO_SEEN, net: NO_BLOCKS };
const NO_ARM = { ...NO_TRADES, days: NO_DAYS };
export const NO_ARMS: Arms = {
  ...{ model: NO_ARM, coin: NO_ARM, momentum: NO_ARM, alwaysLong: NO_ARM },
  buyAndHold: NO_TRADES,
};

/**
 * A pair's days. For days before `most` was stored only the least is known, so the upper bound is that of later days.
 */
export function seenIn({ days, blocks = NO_BLOCKS }: ObjectType<typeof pairFields>): Seen {
  return days ?? { least: blocks, most: NO_BLOCKS };
}

/** The arms of a row of any version. */
export function armsIn(kept: Infer<typeof vKeptArms>): Arms {
  if ("paired" in kept) return kept;
  const { model, coin, momentum, alwaysLong, buyAndHold } = kept;
  const since = (arm: Infer<typeof vArm> | Infer<typeof vEarlierArm>) => {
    if ("days" in arm) return arm;
    const { blocks, ...sums } = arm;
    return { ...sums, days: { least: blocks, most: NO_BLOCKS, net: NO_BLOCKS } };
  };
  return {
    ...{ model: since(model), coin: since(coin), momentum: since(momentum) },
    ...{ alwaysLong: since(alwaysLong), buyAndHold },
  };
}

/**
 * The sums with one more day, on which every trade has ended. A day without trades adds nothing.
 * @param places The number by which a day is divided; if left out, the number of an arm's trades.
 */
export function addDayOfTrades(arms: Arms, trades: readonly DayTrade[], places?: number): Arms {
  if (trades.length === 0) return arms;
  const after = { ...arms };
  for (const arm of ARMS) {
    const own = trades.flatMap(({ [arm]: one }) => one ?? []);
    if (own.length === 0) continue;
    const results = own.map((one) => ({ pnl: armPnl(one), costBps: one.costBps }));
    const days = addDayOfEndings(arms[arm].days, own, places ?? own.length);
    after[arm] = { ...withResults(arms[arm], results), days };
  }
  const holdings = trades.map(({ heldPnl: pnl, model: { costBps } }) => ({ pnl, costBps }));
  after.buyAndHold = withResults(arms.buyAndHold, holdings);
  const { paired = NO_PAIRED } = arms;
  const against = (rival: (typeof RIVALS)[number]) => {
    const pairs = trades.map(({ model, [rival]: other }) => pairOf(model, other));
    return addDifferences(paired[rival], pairs, places ?? trades.length);
  };
  return { ...after, paired: { coin: against("coin"), alwaysLong: against("alwaysLong") } };
}

/**
 * A trade compared with that of a rival. On the same side it is the same trade, also if parts of its path are not
 * known.
 */
function pairOf(own: ArmTrade, other: ArmTrade): Pair {
  return own.position.signal === other.position.signal
    ? { own: NO_EXCESS, other: NO_EXCESS }
    : { own: excessOf(own), other: excessOf(other) };
}

/** A trade's excess over chance: the least and the most that it may be, and the least after costs. */
type Excess = Record<keyof Days, number>;
const NO_EXCESS: Excess = { least: 0, most: 0, net: 0 };

function excessOf({ position, costBps, ...ending }: ArmTrade): Excess {
  const least = leastExcess(position, ending);
  return { least, most: mostExcess(position, ending), net: least - breakEvenOf(position, costBps) };
}

/** One more day of trades, divided by so many places. */
export function addDayOfEndings(days: Days, ended: readonly ArmTrade[], places: number): Days {
  const excesses = ended.map(excessOf);
  const mean = (of: keyof Days) => excesses.reduce((sum, one) => sum + one[of], 0) / places;
  return {
    least: addDay(days.least, mean("least")),
    most: addDay(days.most, mean("most")),
    net: addDay(days.net, mean("net"), LEAST_NET),
  };
}

type Result = { pnl: number | null; costBps: number };

function withResults(before: typeof NO_TRADES, results: readonly Result[]) {
  let { trades, pnlSum, costSum } = before;
  for (const { pnl, costBps } of results) {
    if (pnl === null) continue;
    trades += 1;
    pnlSum += pnl;
    costSum += costBps / 100;
  }
  return { trades, pnlSum, costSum };
}

/** Slots of 00:00 to 16:00: issued before 17:00, expired before 23:00, priced by 23:35 at the latest. */
const COUNTED_HOURS = 17;
export const COUNTED_MS = COUNTED_HOURS * HOUR;
const SLOTS = COUNTED_HOURS * LAB_TOKENS.length;

/** A difference of two excesses lies within this; it is scaled to lie within what an excess may be. */
const GREATEST_DIFFERENCE = 1 + 5 / 9;
const SCALE = 5 / 9 / GREATEST_DIFFERENCE;

/** A closed signal of a day's counted hours. */
type DayShadow = Levels & Ending & { slot: number; token: LabToken; costBps: number };

/** An arm's days with one more. */
export function addArmDay(days: Days, day: readonly DayShadow[]): Days {
  return addDayOfEndings(days, day.flatMap(tradeOf), SLOTS);
}

/**
 * The days of an arm against another with one more: of the slots in which both have answered, each compared with the
 * other in the same hour, at the price of the same minutes. Unknown parts of a path count against the arm that is
 * tested for being better.
 */
export function addPairDay(
  { least, most }: Seen,
  day: readonly DayShadow[],
  against: readonly DayShadow[],
): Seen {
  const both = day.flatMap((one) => {
    const other = against.find(({ slot, token }) => slot === one.slot && token === one.token);
    return other === undefined ? [] : [{ own: shadowExcess(one), other: shadowExcess(other) }];
  });
  return addDifferences({ least, most }, both, SLOTS);
}

type Pair = { own: Excess; other: Excess };

/** One more day of pairs, divided by so many places. */
function addDifferences({ least, most }: Seen, pairs: readonly Pair[], places: number): Seen {
  const mean = (of: (pair: Pair) => number) =>
    (SCALE * pairs.reduce((sum, pair) => sum + of(pair), 0)) / places;
  return {
    least: addDay(
      least,
      mean(({ own, other }) => own.least - other.most),
    ),
    most: addDay(
      most,
      mean(({ own, other }) => own.most - other.least),
    ),
  };
}

/** The factor from a pair's days to shares of an excess. */
export const PAIR_UNIT = 1 / SCALE;

/** Empty without a position. */
function tradeOf(one: DayShadow): ArmTrade[] {
  const position = positionOf(one);
  const { exitPrice, gapMinutes, inDoubt, costBps } = one;
  return position === null ? [] : [{ position, exitPrice, gapMinutes, inDoubt, costBps }];
}

function shadowExcess(one: DayShadow): Excess {
  return tradeOf(one).map(excessOf).at(0) ?? NO_EXCESS;
}
