import { internal } from "../../_generated/api";
import type { MutationCtx } from "../../_generated/server";
import type { ErrorCode } from "../../lib/errors";
import { log } from "../../lib/log";
import { NOBODY } from "../../lib/records/records";
import { MINUTE, NEVER, SECOND } from "../../lib/time";
import { tellOwner } from "../../messenger/webhooks/events";
import { byWalletId, PREPARED_FOR_MS, settleTrade } from "../model";
import type { Try } from "../tables";
import {
  byId,
  faultOf,
  FURTHEST_AHEAD,
  isEnded,
  MOST_SIGNED_SERVICE,
  REVERTED,
  signedOf,
  type Order,
} from "./model";

/** From the signature to the end of an order (`states.md`). Plain functions, steps of their caller's mutation. */

const WITHDRAWN = "The transaction could no longer be mined and was withdrawn: only a network fee was spent";
const USED = "Another transaction took this one's place";
const APPROVAL_REFUSED = "The token refused the approval that the swap needs: nothing was swapped";
export const NOT_SWAPPED =
  "The approval that the swap needs was not mined in time: nothing was swapped, and the order is over";

/** Answers that call a nonce used otherwise count from here on: a lagging node may not have the receipt yet. */
const USED_AFTER_MS = MINUTE;
/** When an outcome is looked at once more: the block that decided it may have been dropped. */
const LOOK_BACK_MS = MINUTE;

/** Stores an order's bytes and takes their nonce. The caller has checked that it may be signed. */
export async function storeTry(
  ctx: MutationCtx,
  row: Order,
  signed: Omit<Try, "at">,
  { fee, terms }: { fee: bigint; terms?: NonNullable<Order["terms"]> | undefined },
): Promise<void> {
  const at = Date.now();
  const spent = BigInt(row.feeCounted) + (fee * BigInt(row.etherPrice)) / 10n ** 18n;
  await ctx.db.patch("orders", row._id, {
    state: "signed",
    nonce: signed.nonce,
    tries: [...row.tries, { ...signed, at }],
    txHash: signed.hash,
    ...(row.firstHash === undefined || row.state === "prepared" ? { firstHash: signed.hash } : {}),
    feeCounted: spent.toString(),
    ...(terms === undefined ? {} : { terms }),
    nextCheckAt: at + 20 * SECOND,
  });
}

/** Ends an order that was not signed; a key that it was opened with is free again. */
export async function drop(ctx: MutationCtx, row: Order, error: string, errorCode: ErrorCode): Promise<void> {
  if (row.state !== "prepared") return;
  await finish(
    ctx,
    row,
    { state: "failed", error, errorCode },
    { idempotencyKey: undefined, nextCheckAt: NEVER },
  );
}

/** The chain has mined one of an order's transactions. */
export async function mined(
  ctx: MutationCtx,
  row: Order,
  { hash, succeeded, bought }: { hash: string; succeeded: boolean; bought?: string | undefined },
): Promise<void> {
  const one = row.tries.find((each) => each.hash === hash);
  if (one === undefined || row.state === "asked" || row.state === "prepared") return;
  const now = Date.now();
  if (one.kind === "approve") {
    const over = { approvalTxHash: hash, txHash: undefined, firstHash: undefined, ...lookBack(now) };
    if (isEnded(row)) return ctx.db.patch("orders", row._id, { nextCheckAt: NEVER });
    const problem = succeeded ? row.error : APPROVAL_REFUSED;
    if (problem !== undefined) return finish(ctx, row, failed(undefined, problem), over);
    return ctx.db.patch("orders", row._id, {
      state: "prepared",
      approvalTxHash: hash,
      txHash: undefined,
      firstHash: undefined,
      usedSince: undefined,
      preparedAt: now,
      nextCheckAt: now + PREPARED_FOR_MS,
    });
  }
  const outcome = !succeeded
    ? failed(hash, REVERTED)
    : one.kind === "empty"
      ? failed(hash, WITHDRAWN)
      : { state: "confirmed" as const, txHash: hash, ...boughtBy(row, bought) };
  if (isEnded(row) && row.state === outcome.state && row.txHash === hash)
    return ctx.db.patch("orders", row._id, { nextCheckAt: NEVER });
  if (isEnded(row)) log.warn("wallets.end corrected", { orderId: row._id, to: outcome.state });
  await finish(ctx, row, outcome, lookBack(now));
}

type Outcome = {
  state: "confirmed" | "failed";
  txHash?: string;
  error?: string;
  errorCode?: ErrorCode;
  bought?: string;
};

/**
 * What a mined swap has bought. 0x's contract would revert rather than pay less than its call guaranteed: then the
 * contract is not what its registry says, or the node lies.
 */
function boughtBy({ _id, terms }: Order, bought: string | undefined): Pick<Outcome, "bought" | "error"> {
  if (bought === undefined) return {};
  if (terms === undefined || BigInt(bought) >= BigInt(terms.minBuyAmount)) return { bought };
  log.error("wallets.swap fell short", { orderId: _id });
  const error = `The swap was mined and has bought ${bought} rather than at least ${terms.minBuyAmount}: the service has been alerted`;
  return { bought, error };
}

function failed(txHash: string | undefined, error: string): Outcome {
  return { state: "failed", ...(txHash === undefined ? {} : { txHash }), error, errorCode: "upstream" };
}

/** `undefined` removes a field. */
type Changes = Partial<Pick<Order, "approvalTxHash" | "nextCheckAt">> & {
  [Field in "idempotencyKey" | "txHash" | "firstHash" | "usedSince"]?: Order[Field] | undefined;
};

function lookBack(now: number): Changes {
  return { nextCheckAt: now + LOOK_BACK_MS, usedSince: undefined };
}

/**
 * The chain's answer, some blocks back, is that the nonce is used, and none of the order's transactions is mined.
 * @param count How many of the account's transactions are mined there.
 */
export async function usedOtherwise(ctx: MutationCtx, row: Order, count: number): Promise<void> {
  if (isEnded(row)) return ctx.db.patch("orders", row._id, { nextCheckAt: NEVER });
  if (row.state !== "signed") return;
  const { nextNonce = 0 } = await byWalletId(ctx, row.walletId);
  // More than this service has given out is no answer about this order.
  if (count > nextNonce + (row.userId === NOBODY ? FURTHEST_AHEAD : 0)) return;
  if (await isToldAgain(ctx, row))
    await finish(ctx, row, failed(undefined, USED), { ...lookBack(Date.now()), usedSince: row.usedSince });
}

/**
 * A service account's order was signed for a nonce that is not the next one, because a node had counted too many, and
 * nothing that is known here can come before it: all such orders of the account end, and the count starts again. What
 * they were for is safe to do twice.
 */
export async function endApart(ctx: MutationCtx, row: Order, mined: number): Promise<void> {
  if (row.state !== "signed" || row.userId !== NOBODY) return;
  const wallet = await byWalletId(ctx, row.walletId);
  const isKnown = await ctx.db
    .query("orders")
    .withIndex("by_walletId_and_nonce", (q) => q.eq("walletId", row.walletId).eq("nonce", mined))
    .first();
  if (isKnown !== null || !(await isToldAgain(ctx, row))) return;
  log.error("wallets.nonces apart", { address: row.address, mined, nonce: row.nonce });
  await ctx.db.patch("wallets", wallet._id, { nextNonce: mined });
  for (const one of await signedOf(ctx, row.walletId, MOST_SIGNED_SERVICE))
    await finish(ctx, one, failed(undefined, USED), { nextCheckAt: NEVER });
}

/** Whether what the chain says of an order's nonce was said a minute ago as well; it is noted. */
async function isToldAgain(ctx: MutationCtx, { _id, usedSince }: Order): Promise<boolean> {
  const now = Date.now();
  if (usedSince === undefined)
    await ctx.db.patch("orders", _id, { usedSince: now, nextCheckAt: now + USED_AFTER_MS });
  return usedSince !== undefined && now - usedSince >= USED_AFTER_MS;
}

/** Writes an order's end, with all that follows from it. */
async function finish(ctx: MutationCtx, row: Order, outcome: Outcome, further: Changes): Promise<void> {
  const { state, txHash = row.txHash, error, errorCode, bought } = outcome;
  await ctx.db.patch("orders", row._id, {
    state,
    error,
    errorCode,
    bought,
    ...(txHash === undefined ? {} : { txHash }),
    endedAt: Date.now(),
    ...further,
  });
  const ended = await byId(ctx, row._id);
  await tellOfEnd(ctx, ended);
  await settleTrade(ctx, ended, faultOf(ended));
  if (ended.question !== undefined)
    await ctx.scheduler.runAfter(0, internal.wallets.orders.questions.ended, { orderId: row._id });
}

/** Tells the webhooks of whose order it is. */
async function tellOfEnd(ctx: MutationCtx, row: Order): Promise<void> {
  const { userId, _id: orderId, request, txHash, bought, state } = row;
  if (request.kind !== "send" && request.kind !== "swap") return;
  const error = faultOf(row);
  const ended = { status: state, error, success: state === "confirmed" && error === null };
  const told = { transactionId: orderId, ...request, txHash, ...ended, bought };
  await tellOwner(ctx, userId, "transaction.ended", told);
}
