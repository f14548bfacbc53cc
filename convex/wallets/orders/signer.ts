import { concat, numberToHex, parseTransaction, size, type Hex } from "viem";
import { internal } from "../../_generated/api";
import type { ActionCtx } from "../../_generated/server";
import { AppError } from "../../lib/errors";
import { log } from "../../lib/log";
import { raisedFees, type FeeMarket, type Fees } from "../../providers/chain/fees";
import { readMarket } from "../../providers/chain/preparation";
import { UPSTREAM } from "../../providers/chain/rpc/client";
import { broadcast, countedAgain } from "../../providers/chain/transactions";
import { MINUTE } from "../../lib/time";
import { asHex, storedAddress } from "../addresses";
import { canSign, signAsService, signTransaction, signTypedData, type Unsigned } from "../custody/signatures";
import { serviceAccountOf } from "../serviceOrders";
import {
  affordableApproval,
  affordableService,
  affordableSwap,
  GAS_OF_NOTHING,
  L1_FEE_MARGIN,
  mayBeSigned,
  nothingFrom,
  offerOf,
  sendable,
  tooDear,
  type Affordable,
} from "./calls";
import { FURTHEST_AHEAD, type Order } from "./model";
import { isSoldBy, permitData, type Message } from "./quotes";
import type { Turn } from "./rows";

/** Signs an order's next transaction, and further ones at its nonce. For actions. */

/** After this long, a transaction with fees below the current ones is sent again with higher ones. */
const OUTBID_AFTER_MS = MINUTE;
/** After this long without a block, its nonce is used for a transaction that moves nothing. */
const WITHDRAWN_AFTER_MS = 10 * MINUTE;

type Next = Affordable & { kind: "approve" | "call"; least?: bigint; terms?: NonNullable<Order["terms"]> };

/**
 * Signs an order's next transaction and stores its bytes; then it sends them. Nothing else signs for the first time.
 * @returns Whether it was signed; otherwise it is another's turn, or a dropped block has to be mended first.
 * @throws AppError with the reason why the order is over.
 */
export async function signNext(ctx: ActionCtx, { row, next, oldest, isNew }: Turn): Promise<boolean> {
  const orderId = row._id;
  const { preparation, gas, call, mostFee, kind, least, terms } = await callOf(ctx, row);
  const nonce = await nonceFor(ctx, row, preparation.mined, { next, oldest, isNew });
  if (nonce === null) return false;
  if (mostFee > BigInt(row.mostFee)) throw tooDear(mostFee, BigInt(row.mostFee));
  const signed = await sign(ctx, row, { nonce, gas, fees: preparation.fees, call }, least);
  const stored = await ctx.runMutation(internal.wallets.orders.rows.storeSigned, {
    orderId,
    signed: { ...signed, kind },
    fee: mostFee.toString(),
    ...(terms === undefined ? {} : { terms }),
  });
  if (stored) await broadcast(signed.raw);
  return stored;
}

/** The call that an order signs next: of a swap the approval that it needs first, then the swap, checked anew. */
async function callOf(ctx: ActionCtx, row: Order): Promise<Next> {
  const { request, minBuyAmount } = row;
  if (request.kind === "send") return { ...(await sendable(ctx, row, request)), kind: "call" };
  if (request.kind !== "swap") return { ...(await affordableService(ctx, row, request)), kind: "call" };
  const offer = await offerOf(ctx, row, request, minBuyAmount === undefined ? null : BigInt(minBuyAmount));
  const { quote, least, priceChecked, approvals } = offer;
  const [amount] = approvals;
  if (amount !== undefined)
    return { ...(await affordableApproval(ctx, row, request.fromToken, amount)), kind: "approve" };
  if (quote.issues.allowance)
    throw new AppError("upstream", "The swap provider does not see the approval yet: try again");
  const { permit2, transaction } = quote;
  const data = permit2
    ? await withPermit(ctx, row, transaction.data, permit2.eip712.message)
    : transaction.data;
  return {
    ...(await affordableSwap(ctx, row, request, quote, data)),
    kind: "call",
    least,
    terms: {
      sellAmount: quote.sellAmount.toString(),
      buyAmount: quote.buyAmount.toString(),
      minBuyAmount: least.toString(),
      priceChecked,
    },
  };
}

/** The call's data with the permit's signature appended: its length as a 32-byte word, then its bytes. */
async function withPermit(
  ctx: ActionCtx,
  { _id: orderId }: Order,
  data: Hex,
  message: Message,
): Promise<Hex> {
  const check = ({ request }: Order) => {
    if (request.kind !== "swap" || !isSoldBy(message, request))
      throw new AppError("internal", "The permit is not what was ordered: nothing was signed");
  };
  const signature = await signTypedData(ctx, { orderId, isEmpty: false, check }, permitData(message));
  return concat([data, numberToHex(size(signature), { size: 32 }), signature]);
}

function sign(ctx: ActionCtx, row: Order, unsigned: Unsigned, least: bigint | undefined) {
  const { call } = unsigned;
  if (serviceAccountOf(row.walletId) !== null) {
    mayBeSigned(row, call, least);
    return signAsService(row.walletId, unsigned);
  }
  const own = storedAddress(row.address);
  const isEmpty = call.to === own && call.data === "0x" && call.value === 0n;
  const check = (order: Order) => mayBeSigned(order, call, least);
  return signTransaction(ctx, { orderId: row._id, isEmpty, check }, unsigned);
}

/**
 * The nonce to sign with. The chain's count lies between the oldest signed order's nonce and the next one.
 * @param mined The chain's count of the account's mined transactions.
 * @returns `null` if it is lower: a block was dropped, and its transactions were sent again.
 * @throws AppError `paused` if it is higher: this service was restored from a backup, and its rows are too old to sign by.
 */
async function nonceFor(
  ctx: ActionCtx,
  { walletId, address: stored }: Order,
  mined: number,
  { next, oldest, isNew }: Pick<Turn, "next" | "oldest" | "isNew">,
): Promise<number | null> {
  const address = storedAddress(stored);
  if (mined >= oldest && mined <= next) return next;
  if (mined < oldest) {
    log.warn("wallets.block dropped", { address, mined, oldest });
    for (const raw of await ctx.runQuery(internal.wallets.orders.rows.bytesFrom, { walletId, nonce: mined }))
      await broadcast(asHex(raw));
    return null;
  }
  const isSure = await countedAgain(address, mined);
  if (isSure && serviceAccountOf(walletId) !== null && (isNew || mined - next <= FURTHEST_AHEAD))
    return mined;
  const unlikely = `${UPSTREAM} reports transactions that this wallet has not made: nothing was signed`;
  if (!isSure) throw new AppError("upstream", unlikely);
  log.error("wallets.behind the chain", { address, mined });
  throw new AppError(
    "paused",
    "The chain knows transactions of this wallet that this service does not: nothing is signed until the operator has read it back",
  );
}

/**
 * Signs further bytes at a signed order's nonce, if it is time for them: the same call with higher fees, or, where that
 * is not allowed or too much time has passed, a transaction that moves nothing. At most one of them is ever mined.
 */
export async function signFurther(ctx: ActionCtx, row: Order): Promise<void> {
  const last = row.tries.at(-1);
  const now = Date.now();
  if (last === undefined || row.txHash === undefined) return;
  if (now - last.at < OUTBID_AFTER_MS || !canSign(row.walletId)) return;
  const address = storedAddress(row.address);
  const { call, gas, fees } = readBytes(asHex(last.raw));
  const { market, l1Fee } = await readMarket(address, call.data);
  const isOver = isLate(row);
  if (!isOver && !isLow(fees, market)) return;
  const raised = raisedFees(fees, market);
  if (raised === null) return;
  const fee = (limit: bigint) => limit * raised.maxFeePerGas + l1Fee * L1_FEE_MARGIN;
  const may =
    !isOver &&
    last.kind !== "empty" &&
    fee(gas) <= BigInt(row.mostFee) &&
    (await ctx.runQuery(internal.wallets.orders.rows.maySignAgain, { orderId: row._id, now }));
  const again = may
    ? { kind: last.kind, call, gas }
    : { kind: "empty" as const, call: nothingFrom(address), gas: GAS_OF_NOTHING };
  const least = row.terms === undefined ? undefined : BigInt(row.terms.minBuyAmount);
  const unsigned = { nonce: last.nonce, gas: again.gas, fees: raised, call: again.call };
  const signed = await sign(ctx, row, unsigned, again.kind === "call" ? least : undefined);
  const stored = await ctx.runMutation(internal.wallets.orders.rows.storeFurther, {
    orderId: row._id,
    before: row.txHash,
    signed: { ...signed, kind: again.kind },
    fee: fee(again.gas).toString(),
  });
  if (!stored) return;
  log.warn("wallets.signed again", { orderId: row._id, kind: again.kind });
  await broadcast(signed.raw);
}

/** Whether it was signed so long ago that its call is no longer waited for. */
export function isLate({ tries, nonce }: Order): boolean {
  const first = tries.find((one) => one.nonce === nonce);
  return first !== undefined && Date.now() - first.at >= WITHDRAWN_AFTER_MS;
}

/** Whether blocks pass it over: the base fee is above what it pays, or its tip below the usual one. */
function isLow(fees: Fees, { baseFee, tip }: FeeMarket): boolean {
  const room = fees.maxFeePerGas - baseFee;
  const left = room < fees.maxPriorityFeePerGas ? room : fees.maxPriorityFeePerGas;
  return left < tip;
}

/** Decodes stored bytes. @throws AppError `internal` if this service does not sign their kind. */
export function readBytes(raw: Hex): { call: Affordable["call"]; gas: bigint; fees: Fees } {
  const transaction = parseTransaction(raw);
  const { to, gas } = transaction;
  if (transaction.type !== "eip1559" || to === undefined || to === null || gas === undefined) {
    throw new AppError("internal", "Signed bytes are of another kind");
  }
  const { data = "0x", value = 0n, maxFeePerGas = 0n, maxPriorityFeePerGas = 0n } = transaction;
  return { call: { to, data, value }, gas, fees: { maxFeePerGas, maxPriorityFeePerGas } };
}
