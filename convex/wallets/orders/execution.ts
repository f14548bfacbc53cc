import { internal } from "../../_generated/api";
import type { ActionCtx } from "../../_generated/server";
import type { Call } from "../../lib/http/endpoint";
import { waitingAs } from "../../lib/limits/slots";
import { AppError, failureOf, isErrorCode } from "../../lib/errors";
import { formatUnits, usdValue } from "../../lib/money/amounts";
import { MOST_FEE } from "../../lib/money/base";
import { once } from "../../lib/once";
import { deadlines } from "../../lib/outside/deadlines";
import { createPauses, SECOND } from "../../lib/time";
import { NO_WALLET, type WalletKind } from "../model";
import type { UserRequest } from "../tables";
import { faultOf, isEnded, shortfallOf, type Order } from "./model";
import { ENDED } from "./questions";
import type { Asked, Paying, Refusal } from "./rows";
import type { Rehearsal } from "./rehearsal";

/** An order from its endpoint to its answer: executed, put to its owner, or only rehearsed. For actions. */

/** They load the chain's library, so they are imported by the first request that needs them. */
const desk = once(() => import("./desk"));
const holdings = once(() => import("../holdings"));
const rehearsals = once(() => import("./rehearsal"));

/** Pause between two reads of the owner's answer. */
const LOOK_MS = 250;
/** How long a rehearsal waits for others at most, in ms. */
const rehearsedMs = () => deadlines.chain + deadlines.swap;

export const EXPLORER = "https://basescan.org/tx/";

export type Placed = { userId: string; from: WalletKind; request: UserRequest; call: Call };

/**
 * The user's wallet, for callers who may move it, or, for a rehearsal, see it.
 * @throws AppError `unauthorized` or `forbidden` if the userId's owner has not allowed it (`users/access`); `not_found`
 * without a wallet.
 */
async function walletFor(ctx: ActionCtx, placed: Placed, isRehearsal: boolean): Promise<Paying> {
  const { userId, from, request, call } = placed;
  const { keyHash } = call.caller;
  const wallet = await ctx.runQuery(internal.wallets.orders.rows.paying, {
    userId,
    kind: from,
    isRehearsal,
    request,
    now: Date.now(),
    ...(keyHash === undefined ? {} : { keyHash }),
    ...(call.idempotencyKey === undefined ? {} : { idempotencyKey: call.idempotencyKey }),
  });
  if (wallet !== null) return wallet;
  const kind = from === "custody" ? "basic" : "custody";
  const other = await ctx.runQuery(internal.wallets.wallets.find, { userId, kind });
  const hint = `. There is a ${kind} wallet, ${other?.address}: a send with from: "${kind}" spends it`;
  throw new AppError("not_found", NO_WALLET + (other === null ? "" : hint));
}

/**
 * Opens an order and waits for its outcome; asks the owner first if the rules require it.
 * @returns `waits`: it has no outcome yet. `headers` say whether an earlier request with this key has moved it.
 * @throws AppError what `walletFor` throws, `paused`, and whatever ended the order before it was signed.
 */
export async function carryOut(ctx: ActionCtx, placed: Placed) {
  const startedAt = performance.now();
  const wallet = await walletFor(ctx, placed, false);
  const done = await waitingAs(
    ctx,
    placed.call.caller,
    async () => {
      if (wallet.isAsked) return asked(ctx, placed, wallet, startedAt);
      try {
        return { waits: null, ...(await outcomeOf(await ordered(ctx, placed, wallet, startedAt), wallet)) };
      } catch (error) {
        if (!wallet.isAskedBeyond || failureOf(error)?.code !== "forbidden") throw error;
        return asked(ctx, placed, wallet, startedAt);
      }
    },
    { heldMs: deadlines.caller },
  );
  return { ...done, headers: headersOf(wallet) };
}

/** Headers of the answer to a request whose key has an outcome. */
function headersOf({ isRepeat }: Paying): Record<string, string> {
  return isRepeat ? { "Idempotent-Replayed": "true" } : {};
}

/** The terms as the mutations that open or ask take them. */
function termsOf({ userId, request, call }: Placed, { walletId }: Paying) {
  const { caller, idempotencyKey } = call;
  return {
    userId,
    walletId,
    request,
    address: caller.address,
    ...(caller.keyHash === undefined ? {} : { keyHash: caller.keyHash }),
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
  };
}

/** What is left of a caller's patience, in ms. @param startedAt By `performance.now`. */
function waitMs(startedAt: number): number {
  return Math.max(SECOND, Math.round(deadlines.transaction - (performance.now() - startedAt)));
}

async function ordered(ctx: ActionCtx, placed: Placed, wallet: Paying, startedAt: number): Promise<Order> {
  const { request } = placed;
  const { valuesOf } = await holdings();
  const token = request.kind === "send" ? request.token : request.fromToken;
  // A repeat moves nothing new, and its outcome must not depend on a price.
  const values = wallet.isRepeat ? null : await valuesOf({ token, amount: request.amount });
  const orderId = await ctx.runMutation(internal.wallets.orders.rows.open, {
    ...termsOf(placed, wallet),
    etherPrice: String(values?.etherPrice ?? 0n),
    ...(values === null || values.value === null ? {} : { value: values.value.toString() }),
  });
  return (await desk()).carry(ctx, orderId, waitMs(startedAt));
}

/** Asks the owner, once for a key or the same terms; an approved order has its outcome if there is time for it. */
async function asked(ctx: ActionCtx, placed: Placed, wallet: Paying, startedAt: number) {
  const { userId, request, call } = placed;
  const terms = termsOf(placed, wallet);
  const rows = internal.wallets.orders.rows;
  const payer = { userId, walletId: wallet.walletId, address: wallet.address };
  const wondering = { payer, request, caller: call.caller, asked: "tap" as const };
  const before: Asked | null = await ctx.runQuery(rows.askedBefore, { ...terms, now: Date.now() });
  let question: Asked =
    before ?? (await ctx.runMutation(rows.ask, { ...terms, ...(await foundFor(ctx, wondering)) }));
  const { approvalId } = question;
  const deadline = AbortSignal.timeout(deadlines.tap);
  const pause = createPauses(LOOK_MS);
  while (question.status === "awaiting_approval" && !deadline.aborted) {
    await pause();
    const now = Date.now();
    question = (await ctx.runQuery(rows.question, { userId, approvalId, now })) ?? question;
  }
  const waits = question;
  if (question.status === "awaiting_approval") return { waits };
  if (question.status === "failed")
    throw new AppError("forbidden", question.order.error ?? "It could not be started");
  if (question.status !== "approved") throw new AppError("forbidden", ENDED[question.status]);
  const wait = { drops: false, drives: false };
  const row = await (await desk()).carry(ctx, approvalId, waitMs(startedAt), wait);
  if (row.txHash === undefined && !isEnded(row)) return { waits };
  return { waits: null, ...(await outcomeOf(row, wallet)) };
}

type Wondering = {
  payer: { userId: string; walletId: string; address: string };
  request: UserRequest;
  caller: Pick<Call["caller"], "address" | "keyHash">;
  asked?: "tap" | "chat";
};

/**
 * The findings of a rehearsal, for a question to the owner.
 * @throws AppError for orders that would be refused whatever the owner says.
 */
export async function foundFor(ctx: ActionCtx, wondering: Wondering) {
  const { rehearse } = await rehearsals();
  const rehearsal = await rehearse(ctx, wondering);
  const { refusal, values, swap } = rehearsal;
  if (refusal !== null && refusal.status !== 202 && refusal.code !== null)
    throw new AppError(refusal.code, refusal.error);
  // Fees may rise until the owner has tapped: one transaction may cost twice as much as now, up to the general limit.
  const doubled = rehearsal.mostFee === null ? null : 2n * rehearsal.mostFee;
  const mostFee = doubled === null ? null : doubled < MOST_FEE ? doubled : MOST_FEE;
  return {
    etherPrice: values.etherPrice.toString(),
    ...(values.value === null ? {} : { value: values.value.toString() }),
    ...(swap === null ? {} : { minBuyAmount: swap.minBuyAmount }),
    ...(mostFee === null ? {} : { mostFee: mostFee.toString() }),
    found: {
      valueUsd: values.value === null ? null : usdValue(values.value),
      mostFeeEth: mostFee === null ? null : formatUnits(mostFee * BigInt(rehearsal.transactions), 18),
      costBps: swap?.price.mostCostBps ?? null,
    },
  };
}

/** @throws AppError with the reason why it ended before it was signed: nothing has moved. */
async function outcomeOf(row: Order, wallet: Paying) {
  const { txHash, tries } = row;
  const raw = tries.findLast(({ hash }) => hash === txHash)?.raw;
  if (txHash === undefined || raw === undefined) {
    const code = row.errorCode ?? "internal";
    throw new AppError(
      isErrorCode(code) ? code : "internal",
      faultOf(row) ?? "The transaction could not be sent",
      { headers: headersOf(wallet), body: { nothingMoved: true } },
    );
  }
  const { mostFeeOf } = await desk();
  const status = shownStatus(row);
  const short = shortfallOf(row);
  const outcome = {
    success: status !== "failed" && short === null,
    txHash,
    status,
    maxFeeEth: mostFeeOf(raw),
    explorerUrl: EXPLORER + txHash,
    ...(short === null ? {} : { error: short }),
  };
  return { row, outcome };
}

export function shownStatus({ state }: Pick<Order, "state">): "confirmed" | "submitted" | "failed" {
  return state === "confirmed" || state === "failed" ? state : "submitted";
}

/** What an order would do. @throws AppError what `walletFor` throws, `upstream` if the chain cannot be reached at all. */
export async function rehearse(ctx: ActionCtx, placed: Placed) {
  const { userId, request, call } = placed;
  const { walletId, address } = await walletFor(ctx, placed, true);
  const found: Rehearsal = await waitingAs(
    ctx,
    call.caller,
    async () => {
      const { rehearse } = await rehearsals();
      return rehearse(ctx, { payer: { userId, walletId, address }, request, caller: call.caller });
    },
    { heldMs: rehearsedMs() },
  );
  const { refusal, values, limits, fees, swap } = found;
  const { approvals, price, ...quoted } = swap ?? {};
  const rehearsal = {
    refusal: shownRefusal(refusal),
    valueUsd: values.value === null ? null : usdValue(values.value),
    limits,
    fees,
    ...(approvals === undefined ? {} : { approvals }),
    ...(price === undefined ? {} : { price }),
  };
  return { outcome: { success: refusal === null, status: "rehearsed" as const, rehearsal }, quoted };
}

function shownRefusal(refusal: Refusal | null) {
  return refusal === null ? null : { status: refusal.status, error: refusal.error };
}
