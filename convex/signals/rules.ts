import { HOUR, MINUTE } from "../lib/time";

/** What a signal must be, and how it ends. Pure. Prices are USD, `pnlPercent` 1.5 is 1.5 %. */

export const TOKENS = ["BTC", "ETH"] as const;
export type Token = (typeof TOKENS)[number];

export type Direction = "BUY" | "SELL" | "HOLD";

/** A signal expires when it is older than this. */
export const LIFETIME_MS = 6 * HOUR;

/** One that nobody could price is closed without a result once it is expired for as long again as it lived. */
const UNPRICED_MS = 2 * LIFETIME_MS;

/** The sources' clocks and the service's may differ by this. */
const SKEW_MS = MINUTE;

/** The entry may be this far from the live price: a fraction. */
const MAX_ENTRY_DISTANCE = 0.03;

export type Levels = {
  signal: Direction;
  entry: number;
  /** The first and the second target and the stop; `null` for HOLD. */
  tp1: number | null;
  tp2: number | null;
  sl: number | null;
};

/** What is wrong with a proposed signal at this live price, for the model to mend; `null` when it may be issued. */
export function problemsOf(proposal: Levels & { confidence: number }, livePriceUsd: number): string | null {
  const { signal, entry, confidence } = proposal;
  const problems: string[] = [];
  if (!Number.isFinite(confidence) || confidence < 0 || confidence > 100 || !Number.isInteger(confidence)) {
    problems.push("confidence must be a whole number from 0 to 100");
  }
  if (!(Math.abs(entry - livePriceUsd) <= MAX_ENTRY_DISTANCE * livePriceUsd)) {
    problems.push(
      `entry ${entry} must be within ${MAX_ENTRY_DISTANCE * 100} % of the live price ${livePriceUsd}`,
    );
  }
  if (signal !== "HOLD") problems.push(...levelProblems(proposal, signal, livePriceUsd));
  return problems.length === 0 ? null : problems.join("; ");
}

function levelProblems({ entry, tp1, tp2, sl }: Levels, signal: "BUY" | "SELL", live: number): string[] {
  if (tp1 === null || tp2 === null || sl === null) return [`a ${signal} must have tp1, tp2 and sl`];
  const order = signal === "BUY" ? "sl < entry < tp1 <= tp2" : "sl > entry > tp1 >= tp2";
  const side = signal === "BUY" ? 1 : -1;
  const ordered =
    sl > 0 && tp2 > 0 && side * sl < side * entry && side * entry < side * tp1 && side * tp1 <= side * tp2;
  if (!ordered)
    return [
      `the levels of a ${signal} must satisfy ${order} (sl ${sl}, entry ${entry}, tp1 ${tp1}, tp2 ${tp2})`,
    ];
  // Beyond one of them the signal would be over before anybody could act on it.
  if (side * live >= side * tp1 || side * live <= side * sl)
    return [`the live price ${live} must lie between sl ${sl} and tp1 ${tp1}`];
  return [];
}

/** A price somebody measured; epoch ms: when its source saw it, and when the service took it. */
export type Look = { priceUsd: number; observedAt: number; takenAt: number };

export type Outcome = {
  status: "WIN" | "LOSS" | "EXPIRED";
  /** The level that was reached, or the live price; `null` when there was none. */
  exitPrice: number | null;
  /** Signed by direction; `null` for HOLD and without an exit price. */
  pnlPercent: number | null;
};

/**
 * How a pending signal stands at a look; `null` while it goes on. The price decides before age. A look from before the
 * signal was issued is none, and neither is a new one at an older price.
 * @param look `null` when no measured price is in reach.
 */
export function outcomeOf(
  signal: Levels & { generatedAt: number },
  look: Look | null,
  now: number,
): Outcome | null {
  const age = now - signal.generatedAt;
  if (look === null || isFromBefore(signal, look)) {
    return age > UNPRICED_MS ? { status: "EXPIRED", exitPrice: null, pnlPercent: null } : null;
  }
  const reached = levelReached(signal, look.priceUsd);
  const close = (status: Outcome["status"], exitPrice: number) => ({
    status,
    exitPrice,
    pnlPercent: pnlPercent(signal.signal, signal.entry, exitPrice),
  });
  if (reached !== null) return close(reached.status, reached.level);
  return age > LIFETIME_MS ? close("EXPIRED", look.priceUsd) : null;
}

function isFromBefore({ generatedAt }: { generatedAt: number }, { observedAt, takenAt }: Look): boolean {
  return takenAt < generatedAt || observedAt < generatedAt - SKEW_MS;
}

function levelReached({ signal, tp1, sl }: Levels, price: number) {
  if (signal === "HOLD" || tp1 === null || sl === null) return null;
  const side = signal === "BUY" ? 1 : -1;
  if (side * price >= side * tp1) return { status: "WIN" as const, level: tp1 };
  if (side * price <= side * sl) return { status: "LOSS" as const, level: sl };
  return null;
}

/** The result of a position from entry to exit, in percent to six decimals; `null` for HOLD, which takes none. */
export function pnlPercent(signal: Direction, entry: number, exit: number): number | null {
  if (signal === "HOLD") return null;
  const change = (exit / entry - 1) * 100;
  return Number((signal === "BUY" ? change : -change).toFixed(6)) + 0;
}
