import type { Signal } from "../record/tables";

/** What reviews are found by. Pure. */

export function refreshKey(day: string): string {
  return `signals review:${day}`;
}

/** `BTC WIN, ETH PENDING`: a signal's levels are fixed, so its status says all that a review depends on. */
export function outcomesKey(signals: readonly Pick<Signal, "token" | "status">[]): string {
  return signals.map(({ token, status }) => `${token} ${status}`).join(", ");
}
