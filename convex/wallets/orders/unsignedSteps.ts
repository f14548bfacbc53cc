import { v, type Infer } from "convex/values";
import { internalMutation, type MutationCtx } from "../../_generated/server";
import { AppError } from "../../lib/errors";
import { defined } from "../../lib/objects";
import { NEVER, SECOND } from "../../lib/time";
import { defineMutation } from "../../platform/changes";
import { beginBook, requireCovered } from "../book";
import {
  derivePaperHash,
  findSigningRefusal,
  getOutgoing,
  isLive,
  isUserRequest,
  requireLive,
  requireWallet,
  findBlockingOrder,
  NOT_ENDED,
} from "../model";
import { storeMoves } from "../result";
import { vBalances, vOrderRow, vSwapTerms, type GasRequest } from "../tables";
import { buildFailure, finalizeOrder, isEnded, LOOK_BACK_MS, requireOrder, type Order } from "./model";
import { ensureServiceAccount, openServiceOrder, reopenServiceOrder } from "../service";

/**
 * The steps of orders for which the wallet signs no transaction: on paper, and for gas, from its authorization to its end.
 * Each is one deciding transaction.
 */

/**
 * Moves the book by an order and ends the order; a late or repeated step changes nothing.
 * @param args.fee The network fee, in wei.
 * @param args.startValues As `beginBook`, for a book that begins with this order.
 * @throws AppError `invalid_request` if the book does not cover it; as `findSigningRefusal`.
 */
export const settleOnPaper = defineMutation(
  { orderId: v.id("orders"), fee: v.string(), terms: v.optional(vSwapTerms), startValues: vBalances },
  async (ctx, { orderId, fee, terms, startValues }) => {
    const row = await requireOrder(ctx, orderId);
    const { request, etherPrice, userId } = row;
    if (row.state !== "prepared") return;
    if (isLive(row) || !isUserRequest(request)) throw new AppError("internal", "This order is not on paper");
    const now = Date.now();
    const refusal = await findSigningRefusal(ctx, row, now);
    if (refusal !== null) throw refusal;
    const wallet = await requireWallet(ctx, row.walletId);
    const book = wallet.book ?? (await beginBook(ctx, wallet, startValues));
    const past = structuredClone(book.past);
    const bought = terms?.buyAmount;
    const { token, amount } = getOutgoing(request);
    const out = { token, raw: BigInt(amount), value: row.value === undefined ? null : BigInt(row.value) };
    requireCovered(past, out, BigInt(fee));
    const paid = (BigInt(fee) * BigInt(etherPrice)) / 10n ** 18n;
    const move = {
      kind: request.kind === "send" ? ("send" as const) : ("swap" as const),
      at: now,
      orderId,
      out,
      ...(request.kind === "swap"
        ? { in: { token: request.toToken, raw: BigInt(bought ?? 0), value: null } }
        : {}),
      fee: { token: "ETH" as const, raw: BigInt(fee), value: etherPrice === "0" ? null : paid },
    };
    await storeMoves(ctx, { walletId: book.id, userId }, past, [move]);
    await ctx.db.patch("wallets", wallet._id, { book: { ...book, past } });
    const result = { paperFee: fee, feeCounted: paid.toString(), ...defined({ terms }) };
    const further = { ...result, txHash: derivePaperHash(orderId), nextCheckAt: NEVER };
    await finalizeOrder(ctx, row, { state: "confirmed", bought }, further);
  },
);

const EXPIRED = "The exchange could not be made in time: nothing was moved";

/**
 * Stores a signed authorization together with the relayer's order that uses it: from then on it blocks the wallet.
 * @returns `false` if the order has ended, or it is another order's turn: the signature is void and leaves nowhere.
 * @throws AppError as `findSigningRefusal`.
 */
export const storeAuthorization = internalMutation({
  args: {
    orderId: v.id("orders"),
    relayer: v.string(),
    validBefore: v.number(),
    call: v.object({ to: v.string(), data: v.string(), value: v.string() }),
  },
  returns: v.boolean(),
  handler: async (ctx, { orderId, relayer, validBefore, call }) => {
    const row = await requireOrder(ctx, orderId);
    requireLive(row);
    if (row.state !== "prepared") return false;
    const now = Date.now();
    const refusal = await findSigningRefusal(ctx, row, now);
    if (refusal !== null) throw refusal;
    if ((await findBlockingOrder(ctx, row)) !== null) return false;
    const serviceId = await openServiceOrder(ctx, "relayer", relayer, { kind: "refuel", ...call });
    const exchange = { validBefore, serviceId };
    await ctx.db.patch("orders", orderId, { state: "signed", exchange, nextCheckAt: now + 20 * SECOND });
    return true;
  },
});

const vExchangeStep = v.union(
  /** The relayer has signed its half. */
  v.object({ kind: v.literal("sent"), txHash: v.string() }),
  v.object({ kind: v.literal("done"), txHash: v.string() }),
  /** The authorization has ended unused. */
  v.object({ kind: v.literal("expired") }),
  /** The relayer has signed nothing, and tries again. */
  v.object({ kind: v.literal("again") }),
  /**
   * Somebody else has used the authorization: the relayer has the USDC, and gives the ether alone. `halfId`: its order
   * that has failed for good.
   */
  v.object({ kind: v.literal("fallback"), halfId: v.id("orders"), relayer: v.string() }),
  /** It has ended as it has. */
  v.object({ kind: v.literal("left") }),
);
export type ExchangeStep = Infer<typeof vExchangeStep>;

/** Moves a gas order to its next state; a late or repeated step changes nothing. @returns The order afterwards. */
export const advanceExchange = internalMutation({
  args: { orderId: v.id("orders"), step: vExchangeStep },
  returns: vOrderRow,
  handler: async (ctx, { orderId, step }) => {
    const row = await requireOrder(ctx, orderId);
    if (row.exchange !== undefined && row.request.kind === "gas")
      await stepOn(ctx, row, row.exchange, row.request, step);
    return requireOrder(ctx, orderId);
  },
});

async function stepOn(
  ctx: MutationCtx,
  row: Order,
  exchange: NonNullable<Order["exchange"]>,
  { ether }: GasRequest,
  step: ExchangeStep,
): Promise<void> {
  const { _id, address, state, txHash } = row;
  const isOver = isEnded(row);
  // The relayer's newest order of the exchange.
  const half = await requireOrder(ctx, exchange.fallbackId ?? exchange.serviceId);
  const lookBack = { nextCheckAt: Date.now() + LOOK_BACK_MS };
  if (step.kind === "left" || (step.kind === "done" && state === "confirmed" && txHash === step.txHash)) {
    if (isOver) await ctx.db.patch("orders", _id, { nextCheckAt: NEVER });
    return;
  }
  if (step.kind === "done") {
    if (half.state === "confirmed")
      await finalizeOrder(ctx, row, { state: "confirmed" }, { txHash: step.txHash, ...lookBack });
    return;
  }
  // A dropped block has taken the end back, or a node has said that the authorization was not used.
  const isRevived = half.state === "failed" && (state === "confirmed" || step.kind === "fallback");
  if (isOver && !isRevived) return;
  if (isOver) await ctx.db.patch("orders", _id, { state: "signed", ...NOT_ENDED });
  if (step.kind === "sent") {
    if (txHash !== step.txHash) await ctx.db.patch("orders", _id, { txHash: step.txHash });
  } else if (half.state !== "failed") return;
  else if (step.kind === "again") await reopenServiceOrder(ctx, half);
  else if (step.kind === "expired") {
    const freed = { idempotencyKey: undefined, txHash: undefined, countedAt: undefined };
    await finalizeOrder(ctx, await requireOrder(ctx, _id), buildFailure(EXPIRED), { ...freed, ...lookBack });
  } else if (half._id === step.halfId) {
    const isSame = exchange.fallbackId !== undefined && half.address === step.relayer;
    if (isSame && (await reopenServiceOrder(ctx, half))) return;
    const payment = { kind: "refuel" as const, to: address, data: "0x", value: ether };
    const fallbackId = await openServiceOrder(ctx, "relayer", step.relayer, payment);
    await ctx.db.patch("orders", _id, { exchange: { ...exchange, fallbackId } });
  }
}

/** Notes whether the relayer has too little ether to give, for the operator. */
export const noteTank = defineMutation(
  { relayer: v.string(), isLow: v.boolean() },
  async (ctx, { relayer, isLow }) => {
    const { _id, lowSince } = await ensureServiceAccount(ctx, "relayer", relayer);
    if (isLow !== (lowSince !== undefined))
      await ctx.db.patch("wallets", _id, { lowSince: isLow ? Date.now() : undefined });
  },
);
