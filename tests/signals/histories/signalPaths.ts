import { outcomeOf } from "../../../convex/signals/trade/path";
import type { Stretch } from "../../../convex/signals/trade/rows";
import { LIFETIME_MS, type Levels } from "../../../convex/signals/trade/rules";
import { bitsFrom } from "./signalHistories";

/** Signals on simulated paths of one price per second, labelled from every price and from one-minute candles. */

const SECOND = 1_000;
const MINUTE = 60_000;
/** One second's largest move: 50 % a year. */
const STEP = 1.55e-4;

type Ended = { status: "WIN" | "LOSS" | "EXPIRED"; at: number; exit: number };
export type Labelled = {
  truth: Ended;
  told: Ended;
  /** Why the candles could not decide, if they could not. */
  dark: "both levels in one candle" | "the minute of issue or expiry" | null;
};

/** One path and its signal: levels 0.3 to 1.5 % away, reward to risk 0.8 to 2, issued at any moment of a minute. */
function labelledPath(bits: () => number): Labelled {
  const share = () => bits() / 2 ** 32;
  const side = share() < 0.5 ? 1 : -1;
  const reward = 0.003 + 0.012 * share();
  const risk = reward / (0.8 + 1.2 * share());
  const start = Date.UTC(2026, 0, 5, 8);
  const generatedAt = start + Math.floor(share() * 60) * SECOND + 500;
  const expiresAt = generatedAt + LIFETIME_MS;

  let price = 100;
  const candles: Stretch[] = [];
  let last: Stretch = { from: -1, to: -1, open: 0, high: 0, low: 0, close: 0, by: "candle" };
  const end = expiresAt + 2 * MINUTE;
  const ticks = new Float64Array(Math.ceil((end - start) / SECOND));
  for (let second = 0; second < ticks.length; second++) {
    price *= 1 + STEP * (2 * share() - 1);
    ticks[second] = price;
    if (second % 60 === 0) {
      const from = start + second * SECOND;
      last = { from, to: from + MINUTE, open: price, high: price, low: price, close: price, by: "candle" };
      candles.push(last);
    } else {
      if (price > last.high) last.high = price;
      if (price < last.low) last.low = price;
      last.close = price;
    }
  }
  const entry = ticks[Math.floor((generatedAt - start) / SECOND)] ?? 100;
  const tp1 = entry * (1 + side * reward);
  const sl = entry * (1 - side * risk);
  const signal = side === 1 ? ("BUY" as const) : ("SELL" as const);
  const levels: Levels = { signal, entry, tp1, tp2: tp1, sl };

  const truth = tickByTick(ticks, start, { side, tp1, sl, generatedAt, expiresAt });
  const outcome = outcomeOf(
    { ...levels, generatedAt, expiresAt },
    { seen: candles, since: generatedAt, earlierGaps: 0, now: end },
  );
  if (outcome?.exitPrice == null) throw new Error("Candles to the end tell an end");
  const told = { status: outcome.status, at: outcome.closedAt, exit: outcome.exitPrice };
  return { truth, told, dark: darkness(candles, { truth, told }, { tp1, sl, generatedAt, expiresAt }) };
}

type Trade = { side: 1 | -1; tp1: number; sl: number; generatedAt: number; expiresAt: number };

function tickByTick(ticks: Float64Array, start: number, trade: Trade): Ended {
  const { side, tp1, sl, generatedAt, expiresAt } = trade;
  let last = 0;
  for (let second = Math.ceil((generatedAt - start) / SECOND); second < ticks.length; second++) {
    const time = start + second * SECOND;
    if (time > expiresAt) break;
    const price = ticks[second] ?? NaN;
    if (side * price <= side * sl) return { status: "LOSS", at: time, exit: sl };
    if (side * price >= side * tp1) return { status: "WIN", at: time, exit: tp1 };
    last = price;
  }
  return { status: "EXPIRED", at: expiresAt, exit: last };
}

function darkness(
  candles: readonly Stretch[],
  { truth, told }: Pick<Labelled, "truth" | "told">,
  { tp1, sl, generatedAt, expiresAt }: Omit<Trade, "side">,
): Labelled["dark"] {
  const minuteOf = (time: number) => time - (time % MINUTE);
  const minute = minuteOf(truth.at);
  const isOfIssue = [truth, told].some(
    ({ status, at }) => status !== "EXPIRED" && minuteOf(at) === minuteOf(generatedAt),
  );
  if (isOfIssue || (truth.status !== "EXPIRED" && minute === minuteOf(expiresAt)))
    return "the minute of issue or expiry";
  const candle = candles.find(({ from }) => from === minute);
  const holds = (level: number) => candle !== undefined && candle.low <= level && level <= candle.high;
  return holds(tp1) && holds(sl) ? "both levels in one candle" : null;
}

/** Labels many paths. @returns The labels that differ from those by every price, and whether each such path is a dark one. */
export function labelPaths({ paths, seed }: { paths: number; seed: number }) {
  const bits = bitsFrom(seed);
  const counts = { WIN: 0, LOSS: 0, EXPIRED: 0 };
  const wrong: Labelled[] = [];
  let late = 0;
  for (let path = 0; path < paths; path++) {
    const one = labelledPath(bits);
    counts[one.truth.status] += 1;
    if (one.told.status !== one.truth.status) wrong.push(one);
    else if (one.dark === null && Math.abs(one.told.at - one.truth.at) >= MINUTE) late += 1;
  }
  return { counts, wrong, late };
}
