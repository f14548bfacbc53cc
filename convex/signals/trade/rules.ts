import { HOUR } from "../../lib/time";

/** The rules of signals, and their results. Pure. Prices are USD, `pnlPercent` 1.5 is 1.5 %. */

export const TOKENS = ["BTC", "ETH"] as const;
export type Token = (typeof TOKENS)[number];

/** The tokens of the shadow arms. */
export const LAB_TOKENS = ["BTC", "ETH", "SOL"] as const;
export type LabToken = (typeof LAB_TOKENS)[number];

/** A token that has daily signals. @throws RangeError if it has none. */
export function delivered(token: LabToken): Token {
  const found = TOKENS.find((one) => one === token);
  if (found === undefined) throw new RangeError(`${token} has no daily signals`);
  return found;
}

export type Direction = "BUY" | "SELL" | "HOLD";

/** A signal expires this long after its issue. Later prices do not count. */
export const LIFETIME_MS = 6 * HOUR;

/** The model's own entry may be this far from the live price, which then takes its place: a fraction. */
export const MAX_ENTRY_DISTANCE = 0.005;

/** The way to tp1 is at least this much of the way to the stop: a tp1 within reach and a far stop win often and earn nothing. */
export const MIN_REWARD_TO_RISK = 0.8;

/**
 * The stop is at least this far away, a fraction of the entry. A nearer one is touched within the minute of issue, and
 * by steps of the price that are longer than the way to it, so that the loss is larger than the recorded one.
 */
const MIN_STOP_DISTANCE = 0.0015;

/** With fewer results than this there is no record yet: no verdict, no ratios, no calibrated confidence. */
export const RECORD_FROM = 30;

/** A tolerance, because ratios of decimals are not exact. */
const HAIR = 1e-9;

export type Levels = {
  signal: Direction;
  entry: number;
  /** The first and the second target and the stop; `null` for HOLD. */
  tp1: number | null;
  tp2: number | null;
  sl: number | null;
};

/** The levels of a signal that takes a position. */
export type Position = { signal: "BUY" | "SELL"; entry: number; tp1: number; sl: number };

/** `null` for a HOLD. */
export function positionOf({ signal, entry, tp1, sl }: Levels): Position | null {
  return signal === "HOLD" || tp1 === null || sl === null ? null : { signal, entry, tp1, sl };
}

/** The market in which a trade is issued. */
export type Market = {
  /** The measured price, at which the trade is entered. */
  priceUsd: number;
  /** The costs of getting in and out, in basis points of the stake. */
  costBps: number;
};

/** The proposal as it is issued: its entry is the measured price, no matter which entry the model named. */
export function entered<Proposal extends Levels>(proposal: Proposal, { priceUsd }: Market): Proposal {
  return { ...proposal, entry: priceUsd };
}

/** What is wrong with a proposed signal in this market, for the model to mend; `null` if it may be issued. */
export function problemsOf(proposal: Levels & { confidence: number }, market: Market): string | null {
  const { signal, entry, confidence } = proposal;
  const { priceUsd } = market;
  const problems: string[] = [];
  if (!Number.isFinite(confidence) || confidence < 0 || confidence > 100 || !Number.isInteger(confidence)) {
    problems.push("confidence must be a whole number from 0 to 100");
  }
  if (!(Math.abs(entry - priceUsd) <= MAX_ENTRY_DISTANCE * priceUsd)) {
    problems.push(
      `entry ${entry} must be within ${MAX_ENTRY_DISTANCE * 100} % of the live price ${priceUsd}`,
    );
  } else if (signal !== "HOLD") {
    problems.push(...levelProblems(entered(proposal, market), signal, market));
  }
  return problems.length === 0 ? null : problems.join("; ");
}

function levelProblems(
  { entry, tp1, tp2, sl }: Levels,
  signal: "BUY" | "SELL",
  { costBps }: Market,
): string[] {
  if (tp1 === null || tp2 === null || sl === null) return [`a ${signal} must have tp1, tp2 and sl`];
  const order = signal === "BUY" ? "sl < entry < tp1 <= tp2" : "sl > entry > tp1 >= tp2";
  const side = signal === "BUY" ? 1 : -1;
  const ordered =
    sl > 0 && tp2 > 0 && side * sl < side * entry && side * entry < side * tp1 && side * tp1 <= side * tp2;
  if (!ordered)
    return [
      `the levels of a ${signal} must satisfy ${order} (sl ${sl}, entry ${entry}: the live price, tp1 ${tp1}, tp2 ${tp2})`,
    ];
  const problems: string[] = [];
  const reward = Math.abs(tp1 - entry);
  const risk = Math.abs(entry - sl);
  if (!((reward / entry) * 10_000 > costBps + HAIR * 10_000)) {
    problems.push(
      `tp1 ${tp1} must be more than the costs of ${costBps / 100} % away from the live price ${entry}`,
    );
  }
  if (!(risk / entry >= MIN_STOP_DISTANCE - HAIR)) {
    problems.push(`sl ${sl} must be at least ${MIN_STOP_DISTANCE * 100} % away from the live price ${entry}`);
  }
  if (!(reward / risk >= MIN_REWARD_TO_RISK - HAIR)) {
    problems.push(
      `from the live price ${entry}, tp1 ${tp1} must be at least ${MIN_REWARD_TO_RISK} times as far as sl ${sl}`,
    );
  }
  return problems;
}

/** The result of a position from entry to exit, in percent to six decimals and before costs; `null` for HOLD, which takes none. */
export function pnlPercent(signal: Direction, entry: number, exit: number): number | null {
  if (signal === "HOLD") return null;
  const change = (exit / entry - 1) * 100;
  return Number((signal === "BUY" ? change : -change).toFixed(6)) + 0;
}

/** A result after the costs of getting in and out. */
export function afterCosts(pnl: number, costBps: number): number {
  return Number((pnl - costBps / 100).toFixed(6)) + 0;
}

/** How far the price moved in the hours before a signal was issued, in percent a year. */
export const REGIMES = ["calm", "usual", "wild"] as const;
export type Regime = (typeof REGIMES)[number];
const CALM_BELOW = 35;
const WILD_FROM = 65;

export function regimeOf(volatility: number): Regime {
  if (volatility < CALM_BELOW) return "calm";
  return volatility < WILD_FROM ? "usual" : "wild";
}

/** With fewer hours than this it is not known. */
const FEWEST_HOURS = 12;

/**
 * Percent a year: the root mean square of the hourly moves.
 * @param closes Hour by hour.
 */
export function volatilityOf(closes: readonly number[]): { volatility?: number } {
  const squares = closes.slice(1).map((close, index) => Math.log(close / (closes[index] ?? close)) ** 2);
  if (squares.length < FEWEST_HOURS) return {};
  const mean = squares.reduce((sum, one) => sum + one, 0) / squares.length;
  return { volatility: Number((100 * Math.sqrt(mean * 24 * 365)).toFixed(1)) };
}

/** With more minutes than this without a candle, the outcome is not certain. */
const MAX_GAP_MINUTES = 5;

/** 0 to 1; at most 1 / (1 + 0.8) by the rules of issue. */
export function chanceOf({ entry, tp1, sl }: Position): number {
  return Math.abs(entry - sl) / Math.abs(tp1 - sl);
}

/** How a trade ended, and how many minutes of its path are not known. */
export type Ending = {
  /** `null` when nobody knew one. */
  exitPrice: number | null;
  gapMinutes: number;
  /** Whether the order in which its levels were touched is not known. Absent on rows of earlier versions. */
  inDoubt?: boolean | undefined;
};

/**
 * The least possible score minus chance, -5/9 to 1: unknown parts of a path must not support a claim. A trade without a
 * price counts as stopped, one with gaps at most as chance.
 */
export function leastExcess(position: Position, { exitPrice, gapMinutes }: Ending): number {
  if (exitPrice === null) return -chanceOf(position);
  const excess = excessAt(position, exitPrice);
  return hasGaps(gapMinutes) ? Math.min(0, excess) : excess;
}

/** The most possible, so that unknown parts do not count against the trade either. */
export function mostExcess(position: Position, { exitPrice, gapMinutes, inDoubt }: Ending): number {
  if (exitPrice === null || inDoubt === true) return 1 - chanceOf(position);
  const excess = excessAt(position, exitPrice);
  return hasGaps(gapMinutes) ? Math.max(0, excess) : excess;
}

function excessAt(position: Position, exitPrice: number): number {
  const { tp1, sl } = position;
  return (exitPrice - sl) / (tp1 - sl) - chanceOf(position);
}

/** The costs as a share of the way from stop to target, 0 to 5/9: a trade has to beat chance by this to earn them. */
export function breakEvenOf({ entry, tp1, sl }: Position, costBps: number): number {
  return ((costBps / 10_000) * entry) / Math.abs(tp1 - sl);
}

/** What a trade has to score on average to earn its costs. */
export function neededIn(position: Position, costBps: number): number {
  return chanceOf(position) + breakEvenOf(position, costBps);
}

export function hasGaps(gapMinutes: number): boolean {
  return gapMinutes > MAX_GAP_MINUTES;
}
