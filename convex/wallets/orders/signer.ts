import type { FunctionArgs } from "convex/server";
import { parseTransaction, type Hex } from "viem";
import { internal } from "../../_generated/api";
import type { ActionCtx } from "../../_generated/server";
import { AppError } from "../../lib/errors";
import { log } from "../../lib/log";
import { defined } from "../../lib/objects";
import { MINUTE } from "../../lib/time";
import {
  hasLowFees,
  raiseFees,
  readMarket,
  type Fees,
  type Transaction,
} from "../../providers/chain/accounts";
import { broadcastTransaction, readMined } from "../../providers/chain/transactions";
import { canSign, signTransaction, signTypedData, type Unsigned } from "../custody/signatures";
import { requireHex, requireStoredAddress, type LiveOrder } from "../model";
import {
  requireAffordable,
  GAS_OF_NOTHING,
  isSame,
  L1_FEE_MARGIN,
  createEmptyTransaction,
  buildOnlyCall,
  feeTooHighError,
  type Next,
  type PayingWallet,
} from "./calls";
import { authorizeExchange } from "./gas";
import type { Order } from "./model";
import { buildPermitData, isSoldBy, type PermitMessage } from "./quotes";
import type { SigningTurn } from "./steps";
import { listSwapCalls, isSwapCall, type Offer } from "./swaps";
import { parseServiceWalletId } from "../service";

/**
 * What an order signs: its calls, the check of each, the first signature of a nonce and its replacements. For actions.
 */

/** Age at which a transaction with fees below the current ones is replaced with higher fees. */
const OUTBID_AFTER_MS = MINUTE;
/** Age at which an unmined transaction's nonce is cancelled with an empty transaction. */
const WITHDRAWN_AFTER_MS = 10 * MINUTE;

/** The turn of an order that the chain carries out. */
type LiveTurn = SigningTurn & { row: LiveOrder };

const OTHER = "The transaction is not what was ordered: nothing was signed";

/**
 * The affordable calls of an order: for a swap the missing approvals, then the swap. An order signs the first call and
 * asks again when it is mined; a rehearsal reads all of them.
 * @param permit Signs a swap's permit; absent in a rehearsal.
 * @throws AppError `invalid_request`, `upstream`
 */
export async function* listCalls(
  ctx: ActionCtx,
  payer: PayingWallet & Pick<Order, "request" | "minBuyAmount"> & Partial<Pick<Order, "tries">>,
  permit?: (message: PermitMessage) => Promise<Hex>,
): AsyncGenerator<Next & { offer?: Offer }, undefined> {
  const { request } = payer;
  if (request.kind === "swap") yield* listSwapCalls(ctx, payer, request, permit);
  const call = buildOnlyCall(request, requireStoredAddress(payer.address));
  if (call === null) return;
  const token = request.kind === "send" ? request.token : "ETH";
  const amount = request.kind === "send" ? BigInt(request.amount) : call.value;
  yield await requireAffordable(ctx, payer, call, { kind: "call", spent: { token, amount } });
}

/**
 * Checks the exact bytes before each signature: they carry out the order, and nothing else.
 * @param least The guaranteed minimum that the swap's owner will see.
 * @throws AppError `internal` for a mistake of this service; `upstream` if the price has moved below the approved
 * minimum.
 */
export function mayBeSigned(
  order: Pick<Order, "address" | "request" | "minBuyAmount">,
  call: Transaction,
  least: bigint | undefined,
): void {
  const owner = requireStoredAddress(order.address);
  const { request } = order;
  const only = buildOnlyCall(request, owner);
  const isOrdered =
    isSame(call, createEmptyTransaction(owner)) ||
    (only !== null && isSame(call, only)) ||
    (request.kind === "swap" && isSwapCall(call, request, order, least));
  if (!isOrdered) throw new AppError("internal", OTHER);
}

/**
 * Signs an order's next transaction, stores its bytes, then sends them. This is the only first signature of a nonce. Each
 * call is checked anew. It signs nothing if the turn has passed to another order, or if a reorg has to be repaired first.
 * @throws AppError with the reason for the order's end.
 */
export async function signNext(ctx: ActionCtx, turn: LiveTurn): Promise<void> {
  const { row } = turn;
  if (row.request.kind === "gas")
    return authorizeExchange(ctx, row, row.request, (data) =>
      signTypedData(ctx, { order: row, isEmpty: false }, data),
    );
  const { value: next } = await listCalls(ctx, row, (message) => signPermit(ctx, row, message)).next();
  if (next === undefined) throw new AppError("internal", "There is nothing to sign for this order");
  const { preparation, gas, call, mostFee, kind, offer } = next;
  const nonce = await chooseNonce(ctx, turn, preparation.mined);
  if (nonce === null) return;
  if (mostFee > BigInt(row.mostFee)) throw feeTooHighError(mostFee, BigInt(row.mostFee));
  const signed = await sign(ctx, row, { nonce, gas, fees: preparation.fees, call }, offer?.least);
  const bytes = { signed: { ...signed, kind }, fee: mostFee.toString(), ...defined({ terms: offer?.terms }) };
  await storeAndSend(ctx, row, bytes);
}

/** Stores bytes before they leave the service, then sends them. @returns `false` if they are void. */
async function storeAndSend(
  ctx: ActionCtx,
  { _id: orderId }: LiveOrder,
  bytes: Omit<FunctionArgs<typeof internal.wallets.orders.steps.storeSigned>, "orderId">,
): Promise<boolean> {
  const isStored = await ctx.runMutation(internal.wallets.orders.steps.storeSigned, { orderId, ...bytes });
  if (isStored) await broadcastTransaction(requireHex(bytes.signed.raw));
  return isStored;
}

function signPermit(ctx: ActionCtx, order: LiveOrder, message: PermitMessage): Promise<Hex> {
  const { request } = order;
  if (request.kind !== "swap" || !isSoldBy(message, request)) throw new AppError("internal", OTHER);
  return signTypedData(ctx, { order, isEmpty: false }, buildPermitData(message));
}

function sign(ctx: ActionCtx, order: LiveOrder, unsigned: Unsigned, least: bigint | undefined) {
  mayBeSigned(order, unsigned.call, least);
  const isEmpty = isSame(unsigned.call, createEmptyTransaction(requireStoredAddress(order.address)));
  return signTransaction(ctx, { order, isEmpty }, unsigned);
}

/**
 * The nonce for the next signature. The chain's transaction count lies between the oldest signed order's nonce and the
 * next one.
 * @param mined The chain's count of the account's mined transactions.
 * @returns `null` if the count is lower (a reorg, whose transactions were sent again) or not certain yet.
 * @throws AppError `paused` if the count is higher: this service was restored from a backup, and its rows are too old
 * to sign by.
 */
async function chooseNonce(
  ctx: ActionCtx,
  { row, next, oldest, isNew }: LiveTurn,
  mined: number,
): Promise<number | null> {
  const { walletId } = row;
  const address = requireStoredAddress(row.address);
  if (mined >= oldest && mined <= next) return next;
  if (mined < oldest) {
    log.warn("wallets.block dropped", { address, mined, oldest });
    for (const raw of await ctx.runQuery(internal.wallets.orders.steps.listBytesFrom, {
      walletId,
      nonce: mined,
    }))
      await broadcastTransaction(requireHex(raw));
    return null;
  }
  const query = { orderId: row._id, now: Date.now() };
  const [again, { next: nextNow }] = await Promise.all([
    readMined(address),
    ctx.runQuery(internal.wallets.orders.steps.getSigningTurn, query),
  ]);
  // Counts differ between nodes and moments, or another order was signed meanwhile.
  if (again !== mined || nextNow !== next) return null;
  // A service account's key may have signed elsewhere before.
  if (isNew && parseServiceWalletId(walletId) !== null) return mined;
  log.error("wallets.behind the chain", { address, mined });
  throw new AppError(
    "paused",
    "The chain has transactions of this wallet that this service does not know: nothing is signed for the wallet until its operator has checked it",
  );
}

/**
 * Signs a replacement at a signed order's nonce, if it is due: the same call with higher fees or, if that is not
 * allowed or too much time has passed, an empty transaction. At most one transaction of a nonce is ever mined.
 * @returns Whether the order may have changed.
 */
export async function signFurther(ctx: ActionCtx, row: LiveOrder): Promise<boolean> {
  const last = row.tries.at(-1);
  const now = Date.now();
  if (last === undefined || row.txHash === undefined) return false;
  if (now - last.at < OUTBID_AFTER_MS || !canSign(row.walletId)) return false;
  const { call, gas, fees } = readBytes(requireHex(last.raw));
  const { current, l1Fee } = await readMarket(call.data);
  const isOver = isWithdrawalDue(row);
  if (!isOver && !hasLowFees(fees, current)) return false;
  const raised = raiseFees(fees, current);
  if (raised === null) return false;
  const fee = (limit: bigint) => limit * raised.maxFeePerGas + l1Fee * L1_FEE_MARGIN;
  const may =
    !isOver &&
    last.kind !== "empty" &&
    fee(gas) <= BigInt(row.mostFee) &&
    (await ctx.runQuery(internal.wallets.orders.steps.getSigningTurn, { orderId: row._id, now })).isAllowed;
  const kind = may ? last.kind : "empty";
  const again = may
    ? { call, gas }
    : { call: createEmptyTransaction(requireStoredAddress(row.address)), gas: GAS_OF_NOTHING };
  const least = kind === "call" && row.terms !== undefined ? BigInt(row.terms.minBuyAmount) : undefined;
  const signed = await sign(ctx, row, { nonce: last.nonce, fees: raised, ...again }, least);
  const bytes = { signed: { ...signed, kind }, fee: fee(again.gas).toString(), before: row.txHash };
  if (await storeAndSend(ctx, row, bytes)) log.warn("wallets.signed again", { orderId: row._id, kind });
  return true;
}

/** Whether the order was signed too long ago to wait for its call any longer. */
export function isWithdrawalDue({ tries, nonce }: Order): boolean {
  const first = tries.find((one) => one.nonce === nonce);
  return first !== undefined && Date.now() - first.at >= WITHDRAWN_AFTER_MS;
}

/** Decodes stored bytes. @throws AppError `internal` for a transaction type that this service does not sign. */
function readBytes(raw: Hex): { call: Transaction; gas: bigint; fees: Fees } {
  const transaction = parseTransaction(raw);
  const { to, gas } = transaction;
  if (transaction.type !== "eip1559" || to === undefined || to === null || gas === undefined) {
    throw new AppError("internal", "Signed bytes are of another kind");
  }
  const { data = "0x", value = 0n, maxFeePerGas = 0n, maxPriorityFeePerGas = 0n } = transaction;
  return { call: { to, data, value }, gas, fees: { maxFeePerGas, maxPriorityFeePerGas } };
}
