import { DAY, HOUR } from "../../lib/time";
import { sha256Hex } from "../../lib/security/digests";
import type { Comparison, Stretch } from "./rows";
import { outcomeOf } from "./path";
import { pnlPercent, positionOf, type Ending, type Levels, type Position } from "./rules";

/**
 * The control arms of every trade of the model, with the same time, entry, distances and costs: a coin flip, the
 * direction of the last 24 hours, and always long; besides them buying at the issue and selling at the expiry. Pure.
 */

export const ARMS = ["model", "coin", "momentum", "alwaysLong"] as const;
type Arm = (typeof ARMS)[number];

export type Side = "BUY" | "SELL";

/**
 * The coin's side. Its seed is the hash of the chain's last event before the signal, which nobody chooses and everybody
 * can read: the issued event's `previousHash`.
 */
export function coinFlip(seed: string, token: string, day: string): Side {
  const first = sha256Hex(`${seed} ${token} ${day}`).slice(0, 1);
  return Number.parseInt(first, 16) < 8 ? "BUY" : "SELL";
}

/** The side of the last 24 hours; `null` if the price at that time is not known. */
export function momentumOf(priceUsd: number, dayAgoUsd: number | null): Side | null {
  if (dayAgoUsd === null) return null;
  return priceUsd >= dayAgoUsd ? "BUY" : "SELL";
}

/**
 * The close of the hour that ended a day ago; `null` if it is not known.
 * @param hours Oldest first.
 */
export function dayAgo(hours: readonly { endsAt: number; close: number }[], now: number): number | null {
  const hour = hours.findLast(({ endsAt }) => endsAt <= now - DAY);
  return hour === undefined || hour.endsAt <= now - DAY - HOUR ? null : hour.close;
}

/** The opposite trade: the levels are as far from the entry, on the other sides. */
export function mirrored({ signal, entry, tp1, sl }: Position): Position {
  return {
    signal: signal === "BUY" ? "SELL" : "BUY",
    entry,
    tp1: entry - (tp1 - entry),
    sl: entry + (entry - sl),
  };
}

/**
 * Both from the path of the signal's whole life; `null` while its end is not known.
 * @param seen As for `outcomeOf`, from the issue on.
 */
export function comparisonOf(
  signal: { position: Position; generatedAt: number; expiresAt: number },
  { seen, now }: { seen: readonly Stretch[]; now: number },
): Comparison | null {
  const { generatedAt, expiresAt } = signal;
  if (now < expiresAt) return null;
  const life = { generatedAt, expiresAt };
  const path = { seen, since: generatedAt, earlierGaps: 0, now };
  const other = mirrored(signal.position);
  const mirror = outcomeOf({ ...other, tp2: other.tp1, ...life }, path);
  const holding = outcomeOf(
    { signal: "HOLD", entry: other.entry, tp1: null, tp2: null, sl: null, ...life },
    path,
  );
  if (mirror === null || holding === null) return null;
  return {
    mirrorStatus: mirror.status,
    mirrorExitPrice: mirror.exitPrice,
    mirrorGapMinutes: mirror.gapMinutes,
    mirrorInDoubt: mirror.inDoubt,
    holdExitPrice: holding.exitPrice,
    decidedBy: holding.decidedBy,
  };
}

/** The outcome of an arm's trade. */
export type ArmTrade = Ending & { position: Position; costBps: number };

/**
 * The trade of each arm at the same moment: the model's own, or the opposite one. An arm without a side has none.
 * `heldPnl`: the result of buying and holding, before costs; `null` without a price.
 */
export type DayTrade = Record<Exclude<Arm, "momentum">, ArmTrade> & {
  momentum?: ArmTrade;
  heldPnl: number | null;
};

/** A signal as a trade with its controls; `null` for a HOLD, and until all of it has ended. */
export function dayTradeOf(
  signal: Levels &
    Partial<Ending> & {
      gapMinutes: number;
      costBps: number;
      coin: Side | null;
      momentum: Side | null;
      compared?: Comparison;
    },
): DayTrade | null {
  const { exitPrice, gapMinutes, inDoubt = false, coin, momentum, compared, costBps } = signal;
  const position = positionOf(signal);
  if (position === null || exitPrice === undefined || compared === undefined || coin === null) return null;
  const own: ArmTrade = { position, exitPrice, gapMinutes, inDoubt, costBps };
  const other: ArmTrade = {
    ...{ position: mirrored(position), exitPrice: compared.mirrorExitPrice },
    ...{ gapMinutes: compared.mirrorGapMinutes, inDoubt: compared.mirrorInDoubt ?? false, costBps },
  };
  const of = (side: Side) => (side === position.signal ? own : other);
  return {
    ...{ model: own, coin: of(coin), alwaysLong: of("BUY") },
    ...(momentum === null ? {} : { momentum: of(momentum) }),
    heldPnl:
      compared.holdExitPrice === null ? null : pnlPercent("BUY", position.entry, compared.holdExitPrice),
  };
}

/** The result of a trade that ended at a price, before costs. */
export function armPnl({ position, exitPrice }: ArmTrade): number | null {
  return exitPrice === null ? null : pnlPercent(position.signal, position.entry, exitPrice);
}
