import { addDayOfEndings, NO_DAYS } from "../../../convex/signals/statistics/days";
import { DECISIVE, eValueBelow, eValueOf, LEAST_NET } from "../../../convex/signals/statistics/inference";
import { outcomeOf } from "../../../convex/signals/trade/path";
import type { Stretch } from "../../../convex/signals/trade/rows";
import {
  entered,
  LIFETIME_MS,
  positionOf,
  problemsOf,
  type Ending,
  type Levels,
  type Position,
} from "../../../convex/signals/trade/rules";
import { bitsFrom } from "./signalHistories";

/** Signals without an edge on prices without a trend: how often a record ever claims one. */
const DAYS = 125;

type Claims = { better: number; betterAfterCosts: number; worse: number };

export type Setting = {
  /** The distances of the first target and the stop from the price. */
  reward: number;
  risk: number;
  /** Seconds from the full minute to the issue: how long the candle has run before. */
  answerS: number;
  costBps: number;
  /** The share of days on which candles are missing, a third of them. */
  gaps: number;
  /** Per year. */
  volatility: number;
  drift: number;
  /** Whether both tokens are on one side. */
  together: boolean;
};

const USUAL: Setting = {
  ...{ reward: 0.012, risk: 0.008, answerS: 10, costBps: 15, gaps: 0, volatility: 0.6, drift: 0 },
  together: true,
};
const wide = { reward: 0.05, risk: 0.05 };
const far = { reward: 0.05, risk: 0.01 };
const near = { reward: 0.0018, risk: 0.0015 };
const even = { reward: 0.004, risk: 0.005 };

export const SETTINGS: readonly (readonly [name: string, setting: Setting])[] = (
  [
    ["usual levels", {}],
    ["the nearest levels", near],
    ["the nearest levels, answered after 2 s", { ...near, answerS: 2 }],
    ["the nearest levels, answered after 60 s", { ...near, answerS: 60 }],
    ["the nearest levels, volatility 150 %", { ...near, volatility: 1.5 }],
    ["the nearest levels, volatility 30 %", { ...near, volatility: 0.3 }],
    ["the nearest stop, a far target", { reward: 0.02, risk: 0.0015 }],
    ["the nearest stop, answered after 5 s", { reward: 0.006, risk: 0.0015, answerS: 5, volatility: 0.65 }],
    ["0.4 % and 0.5 %", even],
    ["0.4 % and 0.5 %, volatility 30 %", { ...even, volatility: 0.3 }],
    ["far targets, near stops", far],
    ["far targets, volatility 150 %", { ...far, volatility: 1.5 }],
    ["5 % both ways", wide],
    ["5 % both ways, volatility 30 %", { ...wide, volatility: 0.3 }],
    ["independent sides", { together: false }],
    ["without costs", { costBps: 0 }],
    ["costs of 30 basis points", { costBps: 30 }],
    ["gaps on 10 % of days", { gaps: 0.1 }],
    ["gaps on 40 % of days", { gaps: 0.4 }],
    ["gaps on 40 % of days, near levels", { ...even, gaps: 0.4 }],
    ["gaps on 40 % of days, far targets", { ...far, gaps: 0.4 }],
    ["a drift of 100 % a year", { drift: 1 }],
    ["a drift of -100 % a year, near levels", { ...even, drift: -1 }],
    ["answered after 60 s, volatility 150 %", { answerS: 60, volatility: 1.5 }],
  ] satisfies [string, Partial<Setting>][]
).map(([name, setting]) => [name, { ...USUAL, ...setting }]);

/** How many histories ever made the claim. */
export function claims(setting: Setting, { histories, seed }: { histories: number; seed: number }): Claims {
  const bits = bitsFrom(seed);
  const read: Claims = { better: 0, betterAfterCosts: 0, worse: 0 };
  for (let history = 0; history < histories; history++) {
    let days = NO_DAYS;
    const ever = { better: false, betterAfterCosts: false, worse: false };
    for (let day = 0; day < DAYS; day++) {
      const ended = dayOf(setting, bits).map((one) => ({ ...one, costBps: setting.costBps }));
      days = addDayOfEndings(days, ended, ended.length);
      ever.better ||= eValueOf(days.least) >= DECISIVE;
      ever.betterAfterCosts ||= eValueOf(days.net, LEAST_NET) >= DECISIVE;
      ever.worse ||= eValueBelow(days.most) >= DECISIVE;
    }
    for (const name of ["better", "betterAfterCosts", "worse"] as const) read[name] += Number(ever[name]);
  }
  return read;
}

const SECOND = 1_000;
const START = Date.UTC(2026, 0, 5, 8);
const YEAR_S = 365 * 86_400;
/** Candles after the issue's, in seconds: minutes at first, while levels are near, and then longer ones. */
const LENGTHS = [
  ...Array.from({ length: 4 }, () => 60),
  300,
  300,
  300,
  ...Array.from({ length: 18 }, () => 1_200),
];

/** How the signals of one day ended, one per token. */
function dayOf(setting: Setting, bits: () => number): (Ending & { position: Position })[] {
  const share = () => (bits() >>> 0) / 2 ** 32;
  const [side, other] = share() < 0.5 ? ([1, -1] as const) : ([-1, 1] as const);
  const sides = [side, setting.together || share() < 0.5 ? side : other] as const;
  const isPatchy = share() < setting.gaps;
  const candles = candlesOf(setting, normals(share), share);
  const [before, after] = [candles.next().value, candles.next().value];
  if (before === undefined || after === undefined) throw new Error("A path has a minute of issue");
  const trades = [tradeOf(setting, sides[0], after[0]), tradeOf(setting, sides[1], after[1])] as const;
  const see = (trade: Trade, candle: Stretch) => {
    if (!trade.isOver && (!isPatchy || share() > 1 / 3)) follow(trade, candle);
  };
  see(trades[0], joined(before[0], after[0]));
  see(trades[1], joined(before[1], after[1]));
  for (const candle of candles) {
    see(trades[0], candle[0]);
    see(trades[1], candle[1]);
    if (trades[0].isOver && trades[1].isOver) break;
  }
  return trades.map(endOf);
}

type Pair<One> = readonly [One, One];

/** Two prices that move together: the minute of issue before and after the issue, then candles. */
function* candlesOf(
  { volatility, drift, answerS }: Setting,
  normal: () => number,
  share: () => number,
): Generator<Pair<Stretch>, undefined> {
  const perSecond = volatility / Math.sqrt(YEAR_S);
  const until = Math.min(59, answerS);
  let at: Pair<number> = [0, 0];
  let from = START;
  for (const seconds of [until, 60 - until, ...LENGTHS]) {
    const step = perSecond * Math.sqrt(seconds);
    const common = normal();
    const next = (before: number) =>
      before + step * (0.8 * common + 0.6 * normal()) + ((drift - volatility ** 2 / 2) * seconds) / YEAR_S;
    const after = [next(at[0]), next(at[1])] as const;
    const move = { step, from, seconds, share };
    yield [candleOf(at[0], after[0], move), candleOf(at[1], after[1], move)];
    at = after;
    from += seconds * SECOND;
  }
}

type Move = { step: number; from: number; seconds: number; share: () => number };

/** A candle between two logarithms of prices; its extremes are those of a Brownian bridge. */
function candleOf(before: number, after: number, { step, from, seconds, share }: Move): Stretch {
  const reach = () => Math.sqrt((after - before) ** 2 - 2 * step * step * Math.log(1 - share()));
  const price = (log: number) => 100 * Math.exp(log);
  return {
    from,
    to: from + seconds * SECOND,
    open: price(before),
    high: price((before + after + reach()) / 2),
    low: price((before + after - reach()) / 2),
    close: price(after),
    by: "candle",
  };
}

function joined(before: Stretch, after: Stretch): Stretch {
  return {
    from: before.from,
    to: after.to,
    open: before.open,
    high: Math.max(before.high, after.high),
    low: Math.min(before.low, after.low),
    close: after.close,
    by: "candle",
  };
}

/** A signal, its available candles, and whether a level lies in them: later candles change nothing. */
type Trade = {
  levels: Levels;
  position: Position;
  generatedAt: number;
  seen: Stretch[];
  isOver: boolean;
};

/** A signal issued between two parts of a minute. @throws Error if the service's rules would have refused it. */
function tradeOf({ reward, risk, costBps }: Setting, side: 1 | -1, after: Stretch): Trade {
  const entry = after.open;
  const levels = {
    signal: side === 1 ? ("BUY" as const) : ("SELL" as const),
    entry,
    tp1: entry * (1 + side * reward),
    tp2: entry * (1 + side * reward),
    sl: entry * (1 - side * risk),
  };
  const problem = problemsOf({ ...levels, confidence: 50 }, { priceUsd: entry, costBps });
  const position = positionOf(entered(levels, { priceUsd: entry, costBps }));
  if (problem !== null || position === null) throw new Error(problem ?? "It takes no position");
  return { levels, position, generatedAt: after.from, seen: [], isOver: false };
}

function follow(trade: Trade, candle: Stretch): void {
  const { sl, tp1 } = trade.position;
  trade.seen.push(candle);
  // Only a part of the minute of issue counts.
  if (candle.from < trade.generatedAt) return;
  trade.isOver = candle.low <= Math.min(sl, tp1) || candle.high >= Math.max(sl, tp1);
}

/** How it ended, by the service's rules. */
function endOf({ levels, position, generatedAt, seen }: Trade): Ending & { position: Position } {
  const expiresAt = generatedAt + LIFETIME_MS;
  const outcome = outcomeOf(
    { ...levels, generatedAt, expiresAt },
    { seen, since: generatedAt, earlierGaps: 0, now: expiresAt + 2 * LIFETIME_MS },
  );
  if (outcome === null) throw new Error("It is long over");
  return { ...outcome, position };
}

/** Standard normal numbers, two at a time (Box and Muller). */
function normals(share: () => number): () => number {
  let spare: number | null = null;
  return () => {
    if (spare !== null) {
      const other = spare;
      spare = null;
      return other;
    }
    const radius = Math.sqrt(-2 * Math.log(1 - share()));
    const angle = 2 * Math.PI * share();
    spare = radius * Math.sin(angle);
    return radius * Math.cos(angle);
  };
}
