import { v, type Infer } from "convex/values";
import { ARMS, armPnl, armTrades, type Arm, type TradeAndControls } from "../trade/controls";
import { excessOf } from "../trade/edge";
import { addDay, NO_BLOCKS } from "./inference";
import { pnlPercent } from "../trade/rules";

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
