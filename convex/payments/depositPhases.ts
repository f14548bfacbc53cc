import { DAY, HOUR, MINUTE, SECOND } from "../lib/time";

/**
 * When a named transaction is looked at. Pure.
 *
 *     checking ──► settled ──(re-check: gone)──► waiting
 *      │    ▲         ▲                             │
 *      ▼    └─────────┼───(named again, or due)─────┤
 *     waiting ────────┴─────────────────────────────┘
 *
 * A settled one with deposits is re-read twice, since the newest blocks can still be replaced.
 */

/** Later than any moment. */
export const NEVER = Number.MAX_SAFE_INTEGER;

/** A check that was silent for this long has died. */
export const CHECK_LEASE_MS = MINUTE;

/** A transaction that the chain does not know for this long never was one. Naming it again asks again. */
export const GIVE_UP_AFTER_MS = DAY;

/** The same for one that anybody may have made up: no webhook is signed, and the chain has never shown it. */
export const GIVE_UP_UNSIGNED_AFTER_MS = 15 * MINUTE;

/** Until the next look at one that is not settled: 2 s, 4 s, … 1 h. */
export function waitDelay(checks: number): number {
  return Math.min(2 * SECOND * 2 ** Math.min(checks, 12), HOUR);
}

/** When a settled one is read again: a minute and five minutes after it was settled. */
export function nextRecheck(now: number, checks: number): number {
  if (checks === 0) return now + MINUTE;
  return checks === 1 ? now + 4 * MINUTE : NEVER;
}

/** When an unmatched deposit looks for its user again: every five minutes, then ever more seldom, down to daily. */
export function nextMatch(now: number, seenAt: number): number {
  return now + Math.min(Math.max(now - seenAt, 5 * MINUTE), DAY);
}
