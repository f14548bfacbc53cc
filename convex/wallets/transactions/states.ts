import { MINUTE, SECOND } from "../../lib/time";
import type { TransactionState } from "./tables";

/**
 * The states of a transaction, as `states.md` draws them. Pure.
 *
 * A nonce is taken in the transaction that stores the signed bytes, so a crash before it takes none and a crash after
 * it leaves bytes that can be sent again with the same effect. `confirmed` and `failed` are final as far as known: a
 * later receipt corrects them (`corrects`), since a chain may drop the block that decided.
 */

export const REVERTED = "The transaction was mined and reverted";

/** Whether it was mined and reverted; any other failed transaction has had no effect, and no fee. */
export function isReverted({ state, error }: { state: TransactionState; error?: string }): boolean {
  return state === "failed" && error === REVERTED;
}

/**
 * How much less a mined swap has bought than its call guaranteed, in words; `null` if it kept the guarantee. 0x's
 * contract would revert instead (`settler.ts`), so the contract is not what its registry says, or the node lies.
 */
export function shortfallOf({
  terms,
  traded,
}: {
  terms?: { minBuyAmount: string };
  traded?: { buyAmount: string };
}): string | null {
  if (terms === undefined || traded === undefined) return null;
  if (BigInt(traded.buyAmount) >= BigInt(terms.minBuyAmount)) return null;
  return `The swap was mined and has bought ${traded.buyAmount} rather than at least ${terms.minBuyAmount}: the operator has been notified`;
}

export const DRIVER_LEASE_MS = 60 * SECOND;

/** After this time nothing of an order is signed for the first time: an approval may have to be mined before its swap. */
export const SIGNED_WITHIN_MS = 3 * MINUTE;

/** A request that is not signed by then is dropped: its caller left long ago. */
export const PREPARED_FOR_MS = MINUTE;

/** A lagging node may know a used nonce but not the receipt: "replaced" counts once it has been the answer for this long. */
export const REPLACED_AFTER_MS = MINUTE;
/** … and after this many answers in a row, besides the one that ends it. */
export const REPLACED_ANSWERS = 2;

/** How long after its end a transaction is checked again: the block that decided may have been dropped. */
export const LOOK_BACK_MS = [MINUTE, 5 * MINUTE] as const;

/** After this long, a transaction with a tip below the current usual one is sent again with a higher one. */
export const OUTBID_AFTER_MS = MINUTE;

/** After this long, a transaction that can no longer be mined is withdrawn: its wallet may get the money meanwhile. */
export const WITHDRAWN_AFTER_MS = 5 * MINUTE;

/** The message to a caller whose request was never signed. */
export const NOT_SENT = "The transaction could not be sent in time: nothing was moved";

export const WITHDRAWN =
  "The transaction could no longer be mined and was withdrawn: only a network fee was spent";

/**
 * A node that counts more foreign transactions than this is wrong. Conversely, a longer run of free nonces was never
 * assigned: an earlier answer was wrong.
 */
export const FURTHEST_AHEAD = 16;

/** The message of the operator's repair for bytes with an unreachable nonce. */
export const DROPPED =
  "Its nonce was wrong, so the chain could not take it and it was dropped: nothing was moved";

/**
 * The nonce to sign with.
 * @param mined The chain's count of the account's mined transactions.
 * @param next The next one, as far as this service has assigned them.
 * @returns `null` if the chain's answer cannot be believed by itself.
 */
export function nonceAfter(mined: number, next: number): number | null {
  return mined > next + FURTHEST_AHEAD ? null : Math.max(mined, next);
}

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

/** Whether a receipt may change an earlier outcome. */
export function corrects(state: TransactionState, to: TransactionState): boolean {
  return (state === "failed" && to === "confirmed") || (state === "confirmed" && to === "failed");
}

/** Signed, with an unknown outcome: the chain has to be asked. */
export const OPEN_STATES = ["signed", "broadcast", "unknown"] as const satisfies readonly TransactionState[];

export function isOpen(state: TransactionState): boolean {
  return OPEN_STATES.some((open) => open === state);
}

/** Whether the driver has done its part: the chain has it, or it has ended. */
export function isHandedOut(state: TransactionState): boolean {
  return state !== "prepared" && state !== "signed";
}

/** When to check a signed transaction again: 20 s, 40 s, … 5 min. */
export function nextCheck(now: number, checks: number): number {
  return now + Math.min(20 * SECOND * 2 ** Math.min(checks, 10), 5 * MINUTE);
}
