import { internal } from "../../_generated/api";
import type { Id } from "../../_generated/dataModel";
import type { ActionCtx } from "../../_generated/server";
import { AppError, getErrorData, getErrorMessage } from "../../lib/errors";
import { log } from "../../lib/log";
import { defined } from "../../lib/objects";
import { deadlines } from "../../platform/outside/deadlines";
import { withUsage } from "../../platform/outside/calls";
import { createPauses, SECOND, sleep, raceDeadline } from "../../lib/time";
import {
  broadcastTransaction,
  getGainInBlock,
  getTransactionStatus,
  type Mined,
  type TransactionStatus,
} from "../../providers/chain/transactions";
import { untilKnown } from "../../providers/chain/rpc";
import { valuePaperStart } from "../holdings";
import { isLive, isUserRequest, requireHex, requireStoredAddress } from "../model";
import { WALLET_TOKENS } from "../tokens";
import { feeTooHighError } from "./calls";
import { quoteOnPaper } from "./estimates";
import { checkExchange } from "./gas";
import { isEnded, type Order } from "./model";
import { isWithdrawalDue, signFurther, signNext } from "./signer";
import type { OrderStep } from "./steps";
import { isWrapping } from "./quotes";

/** Carries orders to their end. The waiting caller and the cron share one check. For actions. */

/** Pause between two reads of the order's row. */
const ROW_PAUSE_MS = 100;
/** Pauses between polls for the receipt: the next block may be near, or seconds away. */
const RECEIPT_PAUSES_MS = [50, 150, 450];
const LONGEST_RECEIPT_PAUSE_MS = 500;
/** Age at which a blocking order is checked by the callers behind it, because its own caller seems to be gone. */
const HELD_UP_MS = 5 * SECOND;

function advance(ctx: ActionCtx, { _id: orderId }: Order, step: OrderStep): Promise<Order> {
  return ctx.runMutation(internal.wallets.orders.steps.advanceOrder, { orderId, step });
}

/** The order's current row. */
export function readOrder(ctx: ActionCtx, orderId: Id<"orders">): Promise<Order> {
  return ctx.runQuery(internal.wallets.orders.steps.getOrder, { orderId, now: Date.now() });
}

/**
 * Executes an order and waits for its receipt. An order without a signature at the deadline is dropped, so that the
 * answer is final. After a signature, no node failure ends the wait.
 * @param waitMs In ms of real time.
 * @param isTapped The owner has approved it: its caller only waits, first for their answer.
 */
export const executeOrder = withUsage(
  async (ctx, orderId: Id<"orders">, waitMs: number, isTapped: boolean = false): Promise<Order> => {
    const deadline = AbortSignal.timeout(waitMs);
    const pause = createPauses(ROW_PAUSE_MS);
    let row = await readOrder(ctx, orderId);
    const isWatched = row.question !== undefined && !isTapped;
    const tap = AbortSignal.timeout(isWatched ? deadlines.tap : 0);
    let receipt = { of: -1, until: deadline, polls: 0 };
    while (!isEnded(row) && !deadline.aborted) {
      if (row.state === "signed") {
        const of = row.nonce ?? 0;
        if (receipt.of !== of) receipt = { of, until: AbortSignal.timeout(getWaitMs(row)), polls: 0 };
        if (receipt.until.aborted) break;
        await sleep(RECEIPT_PAUSES_MS[receipt.polls++] ?? LONGEST_RECEIPT_PAUSE_MS);
        row = (await raceDeadline(deadline, checkQuietly(ctx, row))) ?? row;
        continue;
      }
      if (row.state === "asked" && tap.aborted) break;
      const isOurs = row.state === "prepared" && !isWatched;
      row =
        (await raceDeadline(deadline, isOurs ? attempt(ctx, row, deadline) : readOrder(ctx, orderId))) ?? row;
      if (row.state === "asked" || row.state === "prepared") await pause();
    }
    if (isWatched || isEnded(row)) return row;
    // Sign nothing after the caller has been answered: a swap whose approval is mined later ends without the swap.
    row = await readOrder(ctx, orderId);
    return row.state === "prepared" ? advance(ctx, row, { kind: "dropped" }) : row;
  },
);

function getWaitMs(row: Order): number {
  return row.tries.at(-1)?.kind === "approve" ? deadlines.approval : deadlines.receipt;
}

/** Checks before an order is refused for a balance that looks short, or a call that would fail. */
const CHECKS_BEFORE_REFUSAL = 3;

/**
 * Signs an order if it is its turn, or carries it out in the book of an account on paper.
 * @param deadline Until then, once its approval is paid for, no `NotKnownYet` failure ends a swap.
 * @returns The order afterwards.
 */
async function attempt(ctx: ActionCtx, { _id: orderId }: Order, deadline?: AbortSignal): Promise<Order> {
  const readTurn = () =>
    ctx.runQuery(internal.wallets.orders.steps.getSigningTurn, { orderId, now: Date.now() });
  const turn = await readTurn();
  const { row, blocker } = turn;
  if (row.state !== "prepared") return row;
  if (blocker !== null) {
    if (Date.now() - (blocker.tries.at(-1)?.at ?? 0) > HELD_UP_MS) await checkQuietly(ctx, blocker);
    return row;
  }
  const carryOut = async () => {
    try {
      await (isLive(row) ? signNext(ctx, { ...turn, row }) : fillOrder(ctx, row));
    } catch (error) {
      // Another caller has signed meanwhile: the wallet no longer has the funds that this attempt needs.
      const present = await readTurn();
      if (present.next === turn.next && present.row.state === row.state) throw error;
    }
  };
  try {
    await untilKnown(carryOut, ({ data }, polls) =>
      row.approvalTxHash === undefined
        ? data.code === "upstream" || polls >= CHECKS_BEFORE_REFUSAL
        : deadline === undefined || deadline.aborted,
    );
  } catch (thrown) {
    const failure = getErrorData(thrown);
    // Only the operator can fix these, so they are logged.
    if (failure === null || failure.code === "internal" || failure.code === "not_configured")
      log.error("wallets.not signed", { orderId, message: getErrorMessage(thrown) });
    const { message: error, code: errorCode } = failure ?? { message: "Internal error", code: "internal" };
    return advance(ctx, row, { kind: "dropped", error, errorCode });
  }
  return readOrder(ctx, orderId);
}

/** Carries out an order in the book. @throws AppError with the reason for the order's end. */
async function fillOrder(ctx: ActionCtx, row: Order): Promise<void> {
  const { _id: orderId, request } = row;
  if (!isUserRequest(request)) throw new AppError("internal", "This is no order of a user's");
  const [{ usualFee, mostFee, terms }, startValues] = await Promise.all([
    quoteOnPaper(row, request),
    valuePaperStart(),
  ]);
  if (mostFee > BigInt(row.mostFee)) throw feeTooHighError(mostFee, BigInt(row.mostFee));
  const filled = { fee: usualFee.toString(), startValues, ...defined({ terms }) };
  await ctx.runMutation(internal.wallets.orders.unsignedSteps.settleOnPaper, { orderId, ...filled });
}

/** One step of an order: sign it if it is its turn, or poll the chain for its status. @throws AppError `upstream` */
export const progress = withUsage(async (ctx, orderId: Id<"orders">): Promise<Order> => {
  const row = await readOrder(ctx, orderId);
  return row.state === "prepared" ? attempt(ctx, row) : checkOrder(ctx, row);
});

async function checkQuietly(ctx: ActionCtx, row: Order): Promise<Order> {
  try {
    return await checkOrder(ctx, row);
  } catch (error) {
    // Only the chain decides a signed order: a node failure leaves its outcome unknown.
    log.warn("wallets.unknown", { orderId: row._id, error: getErrorMessage(error) });
    return readOrder(ctx, row._id);
  }
}

/**
 * Polls the chain for a signed order, or for one that a receipt has ended. A transaction that no node knows is sent
 * again: the same bytes or, when due, a replacement at the same nonce.
 * @throws AppError `upstream`
 */
export async function checkOrder(ctx: ActionCtx, row: Order): Promise<Order> {
  const { nonce, tries } = row;
  if (row.exchange !== undefined) return checkExchange(ctx, row, progress);
  if (!isLive(row) || (row.state !== "signed" && !isEnded(row))) return row;
  const currentTries = tries.filter((one) => one.nonce === nonce);
  const last = currentTries.at(-1);
  if (nonce === undefined || last === undefined) return row;
  const status: TransactionStatus = await getTransactionStatus(
    requireStoredAddress(row.address),
    nonce,
    currentTries.map(({ hash }) => requireHex(hash)),
  );
  if (status.kind === "mined") {
    const { hash, succeeded, block, fee } = status;
    const bought = succeeded ? await readBoughtAmount(row, status) : undefined;
    const facts = defined({ bought, paid: fee?.toString() });
    return advance(ctx, row, { kind: "mined", hash, succeeded, block: block.number, ...facts });
  }
  if (status.kind === "used") return advance(ctx, row, { kind: "astray", mined: status.mined });
  if (status.kind === "missing")
    for (const { raw } of isEnded(row) ? currentTries : [last]) await broadcastTransaction(requireHex(raw));
  // A reorg has removed the deciding block: the cron soon polls again.
  if (isEnded(row) || status.kind === "unsure") return row;
  if (status.mined < nonce && isWithdrawalDue(row))
    return advance(ctx, row, { kind: "astray", mined: status.mined });
  const freed = row.nonceConflictSince === undefined ? row : await advance(ctx, row, { kind: "free" });
  // Unchanged rows are not read again: callers poll each half second.
  return status.mined === nonce && (await signFurther(ctx, row)) ? readOrder(ctx, row._id) : freed;
}

/** The bought amount of a mined swap, from its receipt; `undefined` for other orders, and if unknown. */
async function readBoughtAmount(
  { _id, request, tries, address }: Order,
  mined: Mined,
): Promise<string | undefined> {
  const one = tries.find(({ hash }) => hash === mined.hash);
  if (request.kind !== "swap" || one?.kind !== "call") return undefined;
  // Wrapping creates WETH without a Transfer log, one to one.
  if (isWrapping(request)) return request.amount;
  const owner = address.toLowerCase();
  const token = WALLET_TOKENS[request.toToken].address?.toLowerCase();
  if (token !== undefined)
    return mined.transfers
      .filter((each) => each.token === token)
      .reduce(
        (sum, { from, to, amount }) => sum + (to === owner ? amount : 0n) - (from === owner ? amount : 0n),
        0n,
      )
      .toString();
  try {
    // Ether transfers leave no logs.
    const gained =
      mined.fee === null ? null : await getGainInBlock(mined.block.number, requireStoredAddress(address));
    return gained === null || mined.fee === null ? undefined : (gained + mined.fee).toString();
  } catch (error) {
    // The swap is confirmed all the same, and its answer keeps the quoted amount.
    log.warn("wallets.outcome unknown", { orderId: _id, error: getErrorMessage(error) });
    return undefined;
  }
}
