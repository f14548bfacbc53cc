import { internal } from "../../_generated/api";
import type { Id } from "../../_generated/dataModel";
import type { ActionCtx } from "../../_generated/server";
import { AppError, isErrorCode } from "../../lib/errors";
import type { Call } from "../../lib/http/endpoint";
import { waitingAs } from "../../lib/limits/slots";
import { once } from "../../lib/once";
import { deadlines } from "../../lib/outside/deadlines";
import { createPauses, SECOND } from "../../lib/time";
import { NOT_SENT, soldBy, type WalletKind } from "../model";
import type { UserRequest } from "../tables";
import { faultOf, isEnded, type Order } from "./model";
import type { Asked } from "./placing";
import { ENDED } from "./questions";

/** An order from its endpoint to its answer: executed, put to its owner, or only rehearsed. For actions. */

/** They load the chain's library, so they are imported by the first request that needs them. */
const desk = once(() => import("./desk"));
const holdings = once(() => import("../holdings"));
const rehearsals = once(() => import("./rehearsal"));

/** Pause between two reads of the owner's answer. */
const LOOK_MS = 250;

export const EXPLORER = "https://basescan.org/tx/";

export type Placed = { userId: string; from: WalletKind; request: UserRequest; call: Call };

/** The wallet that pays for an order, and the order as the transactions take it. */
async function payerOf(ctx: ActionCtx, { userId, from: kind, request, call }: Placed, isRehearsal: boolean) {
  const { caller, idempotencyKey } = call;
  const order = {
    userId,
    request,
    ...(caller.keyHash === undefined ? {} : { keyHash: caller.keyHash }),
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
  };
  const asked = { ...order, kind, isRehearsal, now: Date.now() };
  const payer = await ctx.runQuery(internal.wallets.orders.placing.payer, asked);
  return { order, payer: { ...payer, userId } };
}

/**
 * Opens an order and waits for its outcome; asks the owner first if the rules require it.
 * @returns `waits`: it has no outcome yet.
 * @throws AppError what `placing.payer` throws, `paused`, and whatever ended the order before it was signed.
 */
export async function carryOut(ctx: ActionCtx, placed: Placed) {
  const startedAt = performance.now();
  const { order, payer } = await payerOf(ctx, placed, false);
  const { request, call } = placed;
  const carried = async () => {
    const { walletId, isRepeat: wasOpened } = payer;
    const { valuesOf } = await holdings();
    // A repeat moves nothing new, and its outcome must not depend on a price.
    const values = wasOpened ? { etherPrice: "0" } : await valuesOf(soldBy(request));
    const paid = { ...order, walletId, address: call.caller.address, isRepeat: wasOpened };
    const { place } = internal.wallets.orders.placing;
    let opened = await ctx.runMutation(place, { ...paid, ...values });
    if (opened === null) {
      const { foundFor } = await rehearsals();
      const found = await foundFor(ctx, { payer, request, caller: call.caller, asked: "tap" });
      opened = await ctx.runMutation(place, { ...paid, ...found });
    }
    if (opened === null) throw new AppError("internal", "The order was not opened");
    const { orderId, isAsked, isRepeat } = opened;
    const waits = isAsked ? await askedOf(ctx, orderId) : null;
    if (waits?.status === "awaiting_approval") return { waits, headers: {} };
    const waitMs = Math.max(SECOND, Math.round(deadlines.transaction - (performance.now() - startedAt)));
    // What its owner has tapped for goes on by itself.
    const wait = isAsked ? { drops: false, drives: false } : {};
    const row = await (await desk()).carry(ctx, orderId, waitMs, wait);
    if (waits !== null && row.txHash === undefined && !isEnded(row)) return { waits, headers: {} };
    return { waits: null, ...outcomeOf(row, isRepeat) };
  };
  return waitingAs(ctx, call.caller, carried, { heldMs: deadlines.caller });
}

/** Waits for the owner's answer. @throws AppError `forbidden` unless they approve, or may still. */
async function askedOf(ctx: ActionCtx, orderId: Id<"orders">): Promise<Asked> {
  const deadline = AbortSignal.timeout(deadlines.tap);
  const pause = createPauses(LOOK_MS);
  for (;;) {
    const now = Date.now();
    const question: Asked = await ctx.runQuery(internal.wallets.orders.placing.question, { orderId, now });
    const { status, error } = question;
    if (status === "approved" || (status === "awaiting_approval" && deadline.aborted)) return question;
    if (status === "failed") throw new AppError("forbidden", error ?? "It could not be started");
    if (status !== "awaiting_approval") throw new AppError("forbidden", ENDED[status]);
    await pause();
  }
}

/** @throws AppError with the reason why it ended before it was signed: nothing has moved. */
function outcomeOf(row: Order, isRepeat: boolean) {
  const { txHash, errorCode: code = "internal" } = row;
  const fault = faultOf(row);
  const headers: Record<string, string> = isRepeat ? { "Idempotent-Replayed": "true" } : {};
  if (txHash === undefined) {
    // Where an approval was mined, its key is not free again.
    const body: Record<string, boolean> = row.approvalTxHash === undefined ? { nothingMoved: true } : {};
    throw new AppError(isErrorCode(code) ? code : "internal", fault ?? NOT_SENT, { headers, body });
  }
  const outcome = {
    success: fault === null,
    txHash,
    status: shownStatus(row),
    explorerUrl: EXPLORER + txHash,
    ...(isRepeat ? { repeated: true as const } : {}),
    ...(fault === null ? {} : { error: fault }),
  };
  return { row, outcome, headers };
}

export function shownStatus({ state }: Pick<Order, "state">): "confirmed" | "submitted" | "failed" {
  return state === "confirmed" || state === "failed" ? state : "submitted";
}

/** What an order would do. @throws AppError what `placing.payer` throws, `upstream` if the chain cannot be reached. */
export async function rehearse(ctx: ActionCtx, placed: Placed) {
  const { request, call } = placed;
  const { payer } = await payerOf(ctx, placed, true);
  const { rehearse: rehearsed, foundIn } = await rehearsals();
  const work = () => rehearsed(ctx, { payer, request, caller: call.caller });
  const found = await waitingAs(ctx, call.caller, work, { heldMs: deadlines.chain + deadlines.swap });
  const { refusal, leftUsd, swap } = found;
  const rehearsal = {
    refusal: refusal === null ? null : { status: refusal.status, error: refusal.error },
    leftUsd,
    ...foundIn(found),
  };
  return { success: refusal === null, status: "rehearsed" as const, rehearsal, ...swap };
}
