import { MINUTE, SECOND } from "../../lib/time";
import type { TransactionState } from "./tables";

/**
 * The states of a transaction, as `states.md` draws them. Pure.
 *
 * A nonce is taken in the transaction that stores the signed bytes, so a crash before it takes none and a crash behind
 * it leaves bytes that can be handed out again with the same effect. `confirmed` and `failed` are ends as far as anybody
 * knows: a later receipt corrects them (`corrects`), since a chain may drop the block that decided.
 */

export const REVERTED = "The transaction was mined and reverted";

/** A transaction that has failed was mined all the same; any other has taken no effect, and no fee. */
export function isReverted({ state, error }: { state: TransactionState; error?: string }): boolean {
  return state === "failed" && error === REVERTED;
}

/**
 * What a mined swap has bought less than its call guaranteed, in words; `null` where it kept its word. 0x's contract
 * reverts rather than that (`settler.ts`), so the contract is not what its registry says, or the node lies.
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
  return `The swap was mined and has bought ${traded.buyAmount} rather than at least ${terms.minBuyAmount}: the operator is told`;
}

/** A driver that was silent for this long has died. */
export const DRIVER_LEASE_MS = 60 * SECOND;

/** Behind this nothing of an order is signed for the first time: an approval may have to be mined before its swap. */
export const SIGNED_WITHIN_MS = 3 * MINUTE;

/** A request that was not signed by then is dropped: its caller went away long ago. */
export const PREPARED_FOR_MS = MINUTE;

/**
 * A node that lags may know of a used nonce and not of the receipt: "replaced" counts once it has been the answer
 * for this long.
 */
export const REPLACED_AFTER_MS = MINUTE;
/** … and after this many answers in a row, besides the one that ends it. */
export const REPLACED_ANSWERS = 2;

/** After its end a transaction is looked at again: the block that decided may have been dropped. */
export const LOOK_BACK_MS = [MINUTE, 5 * MINUTE] as const;

/** A transaction whose tip is below what is usual by now is offered anew, for more, after this long. */
export const OUTBID_AFTER_MS = MINUTE;

/** A transaction that cannot be mined any more is withdrawn after this long: its wallet may get the money meanwhile. */
export const WITHDRAWN_AFTER_MS = 5 * MINUTE;

/** What the caller is told whose request never got as far as a signature. */
export const NOT_SENT = "The transaction could not be sent in time: nothing was moved";

export const WITHDRAWN =
  "The transaction could no longer be mined and was withdrawn: only a network fee was spent";

/**
 * More than this many transactions that this service has not signed are nobody's: the node is wrong. The other way round,
 * more nonces in a row that nobody holds were never given out: an earlier answer was wrong.
 */
export const FURTHEST_AHEAD = 16;

/** What the operator's repair says of bytes whose nonce lies beyond anything that the account can reach. */
export const DROPPED =
  "Its nonce was wrong, so the chain could not take it and it was dropped: nothing was moved";

/**
 * The nonce to sign with.
 * @param mined What the chain says is mined of the account.
 * @param next The next one as far as this service has given them out.
 * @returns `null` when the chain's answer cannot be believed by itself.
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

/** Whether a receipt may change an end that was believed before. */
export function corrects(state: TransactionState, to: TransactionState): boolean {
  return (state === "failed" && to === "confirmed") || (state === "confirmed" && to === "failed");
}

/** Signed, and its end is not known: the chain has to be asked. */
export const OPEN_STATES = ["signed", "broadcast", "unknown"] as const satisfies readonly TransactionState[];

export function isOpen(state: TransactionState): boolean {
  return OPEN_STATES.some((open) => open === state);
}

/** The driver has done its part: the chain has it, or it has ended. */
export function isHandedOut(state: TransactionState): boolean {
  return state !== "prepared" && state !== "signed";
}

/** When to look after a signed transaction again: 20 s, 40 s, … 5 min. */
export function nextCheck(now: number, checks: number): number {
  return now + Math.min(20 * SECOND * 2 ** Math.min(checks, 10), 5 * MINUTE);
}
