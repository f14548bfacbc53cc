import {
  addDay,
  DECISIVE,
  eValueOf,
  NO_BLOCKS,
  type Blocks,
} from "../../../convex/signals/statistics/inference";
import { leastExcess } from "../../../convex/signals/trade/rules";

/**
 * Histories of signals on a price without direction: a walk of equal steps up and down that hits all levels exactly, so
 * that no trade ends beyond its level and the chance of each geometry is exact. Two tokens move together.
 */

export type Rounds = { histories: number; days: number; seed: number };

/** 32 random bits at a time (xorshift). */
export function bitsFrom(seed: number): () => number {
  let state = (Math.imul(seed, 2_654_435_761) ^ 0x9e3779b9) | 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state >>> 0;
  };
}

const ENTRY = 1_000;

/** Both sides of one trade, scored against chance. */
type Scored = { long: number; short: number };

/** One price, and where the trades of both sides that were entered at its start have ended; `null` while they are open. */
type Walk = { reward: number; risk: number; at: number; long: number | null; short: number | null };

/** A day of both tokens: separate levels, one time limit, and steps of which seven in eight are the same. */
function dayOf(bits: () => number): [Scored, Scored] {
  const steps = 24 + (bits() % 72);
  const begin = (): Walk => {
    const reward = 3 + (bits() % 12);
    // Reward to risk from 0.8 to 2.
    const risk = Math.max(
      2,
      Math.min(Math.floor(reward / 0.8), Math.round(reward / (0.8 + (bits() % 1_000) / 833))),
    );
    return { reward, risk, at: 0, long: null, short: null };
  };
  const [btc, eth] = [begin(), begin()];
  for (let step = 0; step < steps; step++) {
    const word = bits() >>> 8;
    const up = (word & 1) === 1 ? 1 : -1;
    const other = (word & 14) === 0 ? ((word & 16) === 0 ? up : -up) : up;
    move(btc, up);
    move(eth, other);
  }
  return [scored(btc), scored(eth)];
}

function move(walk: Walk, by: number): void {
  const at = walk.at + by;
  walk.at = at;
  if (walk.long === null && (at >= walk.reward || at <= -walk.risk)) walk.long = at;
  if (walk.short === null && (-at >= walk.reward || at >= walk.risk)) walk.short = at;
}

function scored({ reward, risk, at, long, short }: Walk): Scored {
  const of = (signal: "BUY" | "SELL", side: 1 | -1, exit: number) =>
    leastExcess(
      { signal, entry: ENTRY, tp1: ENTRY + side * reward, sl: ENTRY - side * risk },
      { exitPrice: ENTRY + exit, gapMinutes: 0, inDoubt: false },
    );
  return { long: of("BUY", 1, long ?? at), short: of("SELL", -1, short ?? at) };
}

/** How many days are simulated to value knowing the better side. */
const GAIN_DAYS = 20_000;

/** What always choosing the better side of a trade gains on average: the value of always knowing. */
function gainOfKnowing(bits: () => number): number {
  let gain = 0;
  for (let day = 0; day < GAIN_DAYS; day++) {
    for (const { long, short } of dayOf(bits)) gain += Math.max(long, short) / 2;
  }
  return gain / GAIN_DAYS;
}

/**
 * Reads each history daily.
 * @param edge In shares of 1: 0.05 is planted by knowing the better side now and then.
 * @returns How many histories ever read "better than chance", and the mean excess of all.
 */
export function lookDaily(
  { histories, days, seed }: Rounds,
  edge: number,
): { found: number; excess: number } {
  const bits = bitsFrom(seed);
  const knowing = edge === 0 ? 0 : edge / gainOfKnowing(bits);
  let found = 0;
  let excess = 0;
  for (let history = 0; history < histories; history++) {
    let blocks: Blocks = NO_BLOCKS;
    let isFound = false;
    for (let day = 0; day < days; day++) {
      const scores = dayOf(bits).map(({ long, short }) =>
        bits() / 2 ** 32 < knowing ? Math.max(long, short) : (bits() & 256) === 0 ? long : short,
      );
      blocks = addDay(blocks, scores.reduce((sum, one) => sum + one, 0) / scores.length);
      isFound ||= eValueOf(blocks) >= DECISIVE;
    }
    found += isFound ? 1 : 0;
    excess += blocks.sum / blocks.days;
  }
  return { found, excess: excess / histories };
}
