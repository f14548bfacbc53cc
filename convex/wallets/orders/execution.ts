import { internal } from "../../_generated/api";
import type { ActionCtx } from "../../_generated/server";
import { AppError, isErrorCode } from "../../lib/errors";
import type { Call } from "../../lib/http/endpoint";
import { waitingAs } from "../../lib/limits/slots";
import { usdValue } from "../../lib/money/amounts";
import { once } from "../../lib/once";
import { deadlines } from "../../lib/outside/deadlines";
import { createPauses, SECOND } from "../../lib/time";
import { NO_WALLET, type WalletKind } from "../model";
import type { UserRequest } from "../tables";
import { faultOf, isEnded, shortfallOf, type Order } from "./model";
import type { Asked } from "./placing";
import { ENDED } from "./questions";

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

/** The order as the transactions take it. */
function termsOf({ userId, request, call: { caller, idempotencyKey } }: Placed) {
  return {
    userId,
    request,
    ...(caller.keyHash === undefined ? {} : { keyHash: caller.keyHash }),
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
  };
}

/**
 * The user's wallet, for callers who may move it, or, for a rehearsal, see it.
 * @throws AppError `unauthorized` or `forbidden` if the userId's owner has not allowed it; `not_found` without a wallet.
 */
async function payerOf(ctx: ActionCtx, placed: Placed, isRehearsal: boolean) {
  const { userId, from: kind } = placed;
  const asked = { ...termsOf(placed), kind, isRehearsal, now: Date.now() };
  const wallet = await ctx.runQuery(internal.wallets.orders.placing.payer, asked);
  if (wallet !== null) return { ...wallet, userId };
  const another = kind === "custody" ? "basic" : "custody";
  const other = await ctx.runQuery(internal.wallets.wallets.find, { userId, kind: another });
  const hint = `. There is a ${another} wallet, ${other?.address}: a send with from: "${another}" spends it`;
  throw new AppError("not_found", NO_WALLET + (other === null ? "" : hint));
}

/**
 * Opens an order and waits for its outcome; asks the owner first if the rules require it.
 * @returns `waits`: it has no outcome yet.
 * @throws AppError what `payerOf` throws, `paused`, and whatever ended the order before it was signed.
 */
export async function carryOut(ctx: ActionCtx, placed: Placed) {
  const startedAt = performance.now();
  const payer = await payerOf(ctx, placed, false);
  const { request, call } = placed;
  const carried = async () => {
    const { valuesOf } = await holdings();
    const token = request.kind === "send" ? request.token : request.fromToken;
    // A repeat moves nothing new, and its outcome must not depend on a price.
    const values = payer.isRepeat ? null : await valuesOf({ token, amount: request.amount });
    const order = { ...termsOf(placed), walletId: payer.walletId, address: call.caller.address };
    const { place } = internal.wallets.orders.placing;
    let opened = await ctx.runMutation(place, {
      ...order,
      etherPrice: String(values?.etherPrice ?? 0n),
      ...(values === null || values.value === null ? {} : { value: values.value.toString() }),
    });
    if (opened === null) {
      const { foundFor } = await rehearsals();
      const found = await foundFor(ctx, { payer, request, caller: call.caller, asked: "tap" });
      opened = await ctx.runMutation(place, { ...order, ...found });
    }
    if (opened === null) throw new AppError("internal", "The order was not opened");
    const { orderId, isAsked, isRepeat } = opened;
    const waits = isAsked ? await askedOf(ctx, placed.userId, orderId) : null;
    if (waits?.status === "awaiting_approval") return { waits, headers: {} };
    const waitMs = Math.max(SECOND, Math.round(deadlines.transaction - (performance.now() - startedAt)));
    // What its owner has tapped for goes on by itself.
    const wait = isAsked ? { drops: false, drives: false } : {};
    const row = await (await desk()).carry(ctx, orderId, waitMs, wait);
    if (waits !== null && row.txHash === undefined && !isEnded(row)) return { waits, headers: {} };
    return { waits: null, ...(await outcomeOf(row, isRepeat)) };
  };
  return waitingAs(ctx, call.caller, carried, { heldMs: deadlines.caller });
}

/** Waits for the owner's answer. @throws AppError `forbidden` unless they approve, or may still. */
async function askedOf(ctx: ActionCtx, userId: string, approvalId: string): Promise<Asked> {
  const deadline = AbortSignal.timeout(deadlines.tap);
  const pause = createPauses(LOOK_MS);
  for (;;) {
    const asked = { userId, approvalId, now: Date.now() };
    const question: Asked | null = await ctx.runQuery(internal.wallets.orders.placing.question, asked);
    if (question === null) throw new AppError("internal", "The question is gone");
    const { status, order } = question;
    if (status === "approved" || (status === "awaiting_approval" && deadline.aborted)) return question;
    if (status === "failed") throw new AppError("forbidden", order.error ?? "It could not be started");
    if (status !== "awaiting_approval") throw new AppError("forbidden", ENDED[status]);
    await pause();
  }
}

/** @throws AppError with the reason why it ended before it was signed: nothing has moved. */
async function outcomeOf(row: Order, isRepeat: boolean) {
  const { txHash, tries } = row;
  const headers: Record<string, string> = isRepeat ? { "Idempotent-Replayed": "true" } : {};
  const raw = tries.findLast(({ hash }) => hash === txHash)?.raw;
  if (txHash === undefined || raw === undefined) {
    const { errorCode: code = "internal" } = row;
    const reason = faultOf(row) ?? "The transaction could not be sent";
    const body = { nothingMoved: true };
    throw new AppError(isErrorCode(code) ? code : "internal", reason, { headers, body });
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
    ...(isRepeat ? { repeated: true as const } : {}),
    ...(short === null ? {} : { error: short }),
  };
  return { row, outcome, headers };
}

export function shownStatus({ state }: Pick<Order, "state">): "confirmed" | "submitted" | "failed" {
  return state === "confirmed" || state === "failed" ? state : "submitted";
}

/** What an order would do. @throws AppError what `payerOf` throws, `upstream` if the chain cannot be reached at all. */
export async function rehearse(ctx: ActionCtx, placed: Placed) {
  const { request, call } = placed;
  const payer = await payerOf(ctx, placed, true);
  const { rehearse: rehearsed, feesOf } = await rehearsals();
  const work = () => rehearsed(ctx, { payer, request, caller: call.caller });
  const found = await waitingAs(ctx, call.caller, work, { heldMs: rehearsedMs() });
  const { refusal, values, limits, calls, swap } = found;
  const { approvals, price, ...quoted } = swap ?? {};
  const rehearsal = {
    refusal: refusal === null ? null : { status: refusal.status, error: refusal.error },
    valueUsd: values.value === null ? null : usdValue(values.value),
    limits,
    fees: feesOf(calls),
    ...(approvals === undefined ? {} : { approvals }),
    ...(price === undefined ? {} : { price }),
  };
  return { outcome: { success: refusal === null, status: "rehearsed" as const, rehearsal }, quoted };
}
