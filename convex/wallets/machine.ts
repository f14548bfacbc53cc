import { SECOND, MINUTE } from "../lib/time";
import type { TransactionState } from "./tables";

/**
 * The states of a transaction. Pure.
 *
 *     prepared ──► signed ──► broadcast ──► confirmed
 *        │           │  │        │  ▲  └──► failed
 *        ▼           │  └──► unknown┘
 *      failed ◄──────┘          └─────────► confirmed, failed
 *
 * A nonce is taken in the transaction that stores the signed bytes, so a crash before it takes none and a crash behind
 * it leaves bytes that can be handed out again with the same effect.
 */

export const REVERTED = "The transaction was mined and reverted";

/** Later than any moment. */
export const NEVER = Number.MAX_SAFE_INTEGER;

/** A driver that was silent for this long has died. */
export const DRIVER_LEASE_MS = 60 * SECOND;

/** A request that was not signed by then is dropped: its caller went away long ago. */
export const PREPARED_FOR_MS = MINUTE;

/**
 * A node that is behind may know of a used nonce and not of the receipt: "replaced" counts once it has been the answer
 * for this long.
 */
export const REPLACED_AFTER_MS = MINUTE;

const FOLLOWS: Record<TransactionState, readonly TransactionState[]> = {
  prepared: ["signed", "failed"],
  signed: ["broadcast", "unknown", "confirmed", "failed"],
  broadcast: ["broadcast", "unknown", "confirmed", "failed"],
  unknown: ["broadcast", "unknown", "confirmed", "failed"],
  confirmed: [],
  failed: [],
};

export function mayFollow(state: TransactionState, next: TransactionState): boolean {
  return FOLLOWS[state].includes(next);
}

/** Signed, and its end is not known: the chain has to be asked. */
export const OPEN_STATES = ["signed", "broadcast", "unknown"] as const satisfies readonly TransactionState[];

export function isOpen(state: TransactionState): boolean {
  return OPEN_STATES.some((open) => open === state);
}

/** When to look after a signed transaction again: 20 s, 40 s, … 5 min. */
export function nextCheck(now: number, checks: number): number {
  return now + Math.min(20 * SECOND * 2 ** Math.min(checks, 10), 5 * MINUTE);
}
