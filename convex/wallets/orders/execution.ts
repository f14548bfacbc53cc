import { internal } from "../../_generated/api";
import type { Doc } from "../../_generated/dataModel";
import type { ActionCtx } from "../../_generated/server";
import { refuseCrowd, waitingAs, type Stay } from "../../lib/limits/crowd";
import { deadlines } from "../../lib/outside/deadlines";
import { AppError, failureOf, isErrorCode } from "../../lib/errors";
import type { Call } from "../../lib/http/endpoint";
import { formatUnits } from "../../lib/money/amounts";
import { MOST_FEE } from "../../lib/money/base";
import { once } from "../../lib/once";
import { SECOND } from "../../lib/time";
import { NO_WALLET, type WalletKind } from "../model";
import type { OrderingWallet } from "../transactions/orders";
import { shortfallOf } from "../transactions/states";
import type { TransactionRequest, TransactionState } from "../transactions/tables";
import { askOwner } from "./question";
import type { OrderWish } from "./tables";

/** An order from its endpoint to its answer: executed, put to its owner, or only rehearsed. For actions. */

/** It loads the chain's library, so it is imported by the first request that needs it. */
const desk = once(() => import("../transactions/desk"));
const rehearsals = once(() => import("../transactions/rehearsal"));

/** How long a rehearsal waits for others at most, in ms. */
const rehearsedMs = () => deadlines.chain + deadlines.swap;

export const EXPLORER = "https://basescan.org/tx/";

export type Order = {
  userId: string;
  from: WalletKind;
  request: Extract<TransactionRequest, { kind: "send" | "swap" }>;
  call: Call;
};

/**
 * The user's wallet, for callers who may move it, or, for a rehearsal, see it.
 * @throws AppError `unauthorized` or `forbidden` if the userId's owner has not allowed it (`users/access`); `not_found`
 * without a wallet.
 */
async function walletFor(
  ctx: ActionCtx,
  { userId, from, request, call }: Order,
  { isRehearsal }: { isRehearsal: boolean },
): Promise<OrderingWallet> {
  const { caller, idempotencyKey } = call;
  const wallet = await ctx.runQuery(internal.wallets.transactions.orders.wallet, {
    ...{ userId, kind: from, isRehearsal, request, caller: caller.address, now: Date.now() },
    ...(caller.keyHash === undefined ? {} : { keyHash: caller.keyHash }),
    ...(idempotencyKey === undefined || isRehearsal ? {} : { idempotencyKey }),
  });
  if (wallet === null) throw new AppError("not_found", NO_WALLET + (await otherWallet(ctx, userId, from)));
  return wallet;
}

/**
 * Opens a transaction and waits for its outcome; asks the owner first if the rules require it.
 * @returns `waits`: it has no outcome yet. `headers` say whether an earlier request with this key has moved it.
 * @throws AppError what `walletFor` throws, `paused`, and whatever ended the request before it was signed.
 */
export async function carryOut(ctx: ActionCtx, order: Order) {
  const startedAt = performance.now();
  const wallet = await walletFor(ctx, order, { isRehearsal: false });
  const done = await waitingAs(
    ctx,
    order.call.caller,
    async (stay) => {
      if (wallet.isAsked) return asked(ctx, order, wallet, startedAt, stay);
      try {
        return { waits: null, ...(await outcomeOf(await ordered(ctx, order, wallet, startedAt), wallet)) };
      } catch (error) {
        if (!wallet.isAskedBeyond || failureOf(error)?.code !== "forbidden") throw error;
        return asked(ctx, order, wallet, startedAt, stay);
      }
    },
    refuseCrowd,
    // An order waits for the chain itself; a question only for its rehearsal, and renews its place as it looks for the tap.
    { crowd: "moving", heldMs: wallet.isAsked ? rehearsedMs() : deadlines.caller },
  );
  return { ...done, headers: headersOf(wallet) };
}

/** Headers of the answer to a request whose key has an outcome. */
function headersOf({ isRepeat }: OrderingWallet): Record<string, string> {
  return isRepeat ? { "Idempotent-Replayed": "true" } : {};
}

async function ordered(ctx: ActionCtx, order: Order, wallet: OrderingWallet, startedAt: number) {
  const { seeThrough } = await desk();
  const { userId, request, call } = order;
  const { idempotencyKey, requestId } = call;
  const { walletId, isRepeat, isLimited } = wallet;
  const { address, keyHash } = call.caller;
  const opened = { userId, walletId, request, idempotencyKey, isRepeat, isLimited };
  return seeThrough(ctx, { ...opened, address, keyHash, requestId, startedAt });
}

/** Asks the owner; an approved order has its outcome if there is time for it. */
async function asked(ctx: ActionCtx, order: Order, wallet: OrderingWallet, startedAt: number, stay: Stay) {
  const { userId, request, call } = order;
  const wish = { kind: "order" as const, walletId: wallet.walletId, request };
  const { idempotencyKey } = call;
  const find = () => foundFor(ctx, { ...wallet, userId, request, caller: call.caller, asked: "approval" });
  const question = { userId, wish, idempotencyKey, keyHash: call.caller.keyHash };
  const answer = await askOwner(ctx, question, find, stay);
  if (answer.transactionId === null) return { waits: answer };
  const { settle } = await desk();
  const waitMs = Math.max(SECOND, Math.round(deadlines.transaction - (performance.now() - startedAt)));
  const view = await settle(ctx, answer.transactionId, waitMs, undefined, { drops: false, stay });
  if (view.txHash === undefined && view.state !== "failed") return { waits: answer };
  return { waits: null, ...(await outcomeOf(view, wallet)) };
}

/** The findings of a rehearsal, for the owner's card. @throws AppError for orders that would be refused whatever the owner says. */
export async function foundFor(
  ctx: ActionCtx,
  {
    userId,
    walletId,
    address,
    request,
    caller,
    asked,
  }: Pick<Order, "userId" | "request"> &
    Pick<OrderingWallet, "walletId" | "address"> & {
      caller: Pick<Call["caller"], "address" | "keyHash">;
      asked: "approval" | "chat";
    },
) {
  const { rehearse } = await rehearsals();
  const payer = { userId, walletId, address };
  const found = await rehearse(ctx, { payer, request, caller, asked });
  const { refusal, valueMicroUsd, valueUsd, swap } = found;
  if (refusal !== null && refusal.status !== 202 && refusal.code !== null)
    throw new AppError(refusal.code, refusal.error);
  const mostFee = found.mostFee === null ? null : feeFor(found.mostFee);
  const wish: OrderWish = {
    ...{ kind: "order", walletId, request },
    ...(valueMicroUsd === null ? {} : { valueMicroUsd }),
    ...(swap === null ? {} : { minBuyAmount: swap.minBuyAmount }),
    ...(mostFee === null ? {} : { mostFee: mostFee.toString() }),
  };
  const mostFeeEth = mostFee === null ? null : formatUnits(mostFee * mostTransactions(request), 18);
  return { wish, found: { valueUsd, mostFeeEth, costBps: swap?.price.mostCostBps ?? null } };
}

/** Fees may rise until the owner has tapped: one transaction may cost twice as much as now, up to the general limit. */
function feeFor(now: bigint): bigint {
  return 2n * now < MOST_FEE ? 2n * now : MOST_FEE;
}

/** Some tokens need two approvals before they are sold. */
function mostTransactions(request: Order["request"]): bigint {
  return request.kind === "swap" && request.fromToken !== "ETH" ? 3n : 1n;
}

/** @throws AppError with the reason why it ended before it was signed. */
async function outcomeOf(view: Doc<"transactions">, wallet: OrderingWallet) {
  const { mostFeeOf } = await desk();
  const maxFeeEth = mostFeeOf(view);
  if (view.txHash === undefined || maxFeeEth === null) {
    const code = view.errorCode ?? "internal";
    throw new AppError(
      isErrorCode(code) ? code : "internal",
      view.error ?? "The transaction could not be sent",
      // The answer to a repeat has to say that the failure is the first request's; other outcomes are clear.
      code === "upstream" ? { headers: headersOf(wallet) } : {},
    );
  }
  const shown = shownStatus(view.state);
  const { txHash } = view;
  const short = shortfallOf(view);
  const outcome = {
    success: shown !== "failed" && short === null,
    txHash,
    status: shown,
    maxFeeEth,
    explorerUrl: EXPLORER + txHash,
    ...(short === null ? {} : { error: short }),
  };
  return { view, outcome };
}

/** A hint at the user's other wallet, if the one that would pay is missing. */
async function otherWallet(ctx: ActionCtx, userId: string, from: WalletKind): Promise<string> {
  const kind = from === "custody" ? "basic" : "custody";
  const wallet = await ctx.runQuery(internal.wallets.wallets.find, { userId, kind });
  return wallet === null
    ? ""
    : `. There is a ${kind} wallet, ${wallet.address}: a send with from: "${kind}" spends it`;
}

/** What an order would do. @throws AppError what `walletFor` throws, `upstream` if the chain cannot be reached at all. */
export async function rehearse(ctx: ActionCtx, order: Order) {
  const { userId, request, call } = order;
  const { walletId, address } = await walletFor(ctx, order, { isRehearsal: true });
  const {
    swap,
    refusal,
    valueMicroUsd: _value,
    mostFee: _fee,
    ...rehearsal
  } = await waitingAs(
    ctx,
    call.caller,
    async () => {
      const { rehearse } = await rehearsals();
      const payer = { userId, walletId, address };
      return rehearse(ctx, { payer, request, caller: call.caller });
    },
    refuseCrowd,
    { crowd: "moving", heldMs: rehearsedMs() },
  );
  const { approvals, price, ...quoted } = swap ?? {};
  const shown = {
    ...rehearsal,
    refusal: refusal === null ? null : { status: refusal.status, error: refusal.error },
    ...(approvals === undefined ? {} : { approvals }),
    ...(price === undefined ? {} : { price }),
  };
  const outcome = { success: refusal === null, status: "rehearsed" as const, rehearsal: shown };
  return { outcome, quoted };
}

export function shownStatus(state: TransactionState): "confirmed" | "submitted" | "failed" {
  return state === "confirmed" || state === "failed" ? state : "submitted";
}
