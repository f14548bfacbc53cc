import { v } from "convex/values";
import { AppError } from "../../lib/errors";
import { defined } from "../../lib/objects";
import { NEVER } from "../../lib/time";
import { defineMutation } from "../../platform/changes";
import { beginBook, requireCovered } from "../book";
import {
  derivePaperHash,
  findSigningRefusal,
  getOutgoing,
  isLive,
  isUserRequest,
  requireWallet,
} from "../model";
import { storeMoves, type Dated } from "../entries";
import { vBalances, vSwapTerms } from "../tables";
import { finalizeOrder } from "./ending";
import { requireOrder } from "./model";

/** The one deciding step of an order on paper. */

/**
 * Moves the book by an order and ends the order; a late or repeated step changes nothing.
 * @param args.fee The network fee, in wei.
 * @param args.startValues As `beginBook`, for a book that begins with this order.
 * @throws AppError `invalid_request` if the book does not cover it; as `findSigningRefusal`.
 */
export const settleOnPaper = defineMutation(
  {
    orderId: v.id("orders"),
    fee: v.string(),
    terms: v.optional(vSwapTerms),
    startValues: vBalances,
  },
  async (ctx, { orderId, fee, terms, startValues }) => {
    const row = await requireOrder(ctx, orderId);
    const { request, etherPrice, walletId, userId } = row;
    if (row.state !== "prepared") return;
    if (isLive(row) || !isUserRequest(request)) throw new AppError("internal", "This order is not on paper");
    const now = Date.now();
    const refusal = await findSigningRefusal(ctx, row, now);
    if (refusal !== null) throw refusal;
    const wallet = await requireWallet(ctx, walletId);
    const book = wallet.book ?? (await beginBook(ctx, wallet, startValues));
    const past = structuredClone(book.past);
    const bought = terms?.buyAmount;
    const { token, amount } = getOutgoing(request);
    const value = row.value === undefined ? null : BigInt(row.value);
    const paid = (BigInt(fee) * BigInt(etherPrice)) / 10n ** 18n;
    const out = { token, raw: BigInt(amount), value };
    requireCovered(past, out, BigInt(fee));
    const move: Dated = {
      kind: request.kind === "send" ? "send" : "swap",
      at: now,
      orderId,
      out,
      ...(request.kind === "swap"
        ? { in: { token: request.toToken, raw: BigInt(bought ?? 0), value: null } }
        : {}),
      fee: { token: "ETH", raw: BigInt(fee), value: etherPrice === "0" ? null : paid },
    };
    await storeMoves(ctx, { walletId: book.id, userId }, past, [move]);
    await ctx.db.patch("wallets", wallet._id, { book: { ...book, past } });
    await ctx.db.patch("orders", orderId, {
      paperFee: fee,
      feeCounted: paid.toString(),
      ...defined({ terms }),
    });
    const further = { txHash: derivePaperHash(orderId), nextCheckAt: NEVER };
    await finalizeOrder(ctx, row, { state: "confirmed", bought }, further);
  },
);
