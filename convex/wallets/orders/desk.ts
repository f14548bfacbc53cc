import { internal } from "../../_generated/api";
import type { Id } from "../../_generated/dataModel";
import type { ActionCtx } from "../../_generated/server";
import { failureOf, messageOf, type ErrorCode } from "../../lib/errors";
import { log } from "../../lib/log";
import { deadlines } from "../../lib/outside/deadlines";
import { counted } from "../../lib/outside/providerCalls";
import { createPauses, SECOND, sleep, within } from "../../lib/time";
import {
  broadcast,
  gainedIn,
  standingOf,
  type Mined,
  type Standing,
} from "../../providers/chain/transactions";
import { asHex, NOT_SENT, storedAddress } from "../model";
import { TOKENS } from "../tokens";
import { isEnded, type Order } from "./model";
import type { Step } from "./steps";
import { isWrapping } from "./quotes";
import { isLate, signFurther, signNext } from "./signer";

/** Brings orders to their end: one check serves the waiting caller and the cron. For actions. */

/** Pause between two reads of a row. */
const ROW_PAUSE_MS = 100;
/** Pauses before questions about the receipt: a block may be near, or seconds away. */
const RECEIPT_PAUSES_MS = [50, 150, 450];
const LONGEST_RECEIPT_PAUSE_MS = 500;
/** An order that holds up another one is checked by whoever waits, if its own caller seems to be gone. */
const HELD_UP_MS = 5 * SECOND;

function advance(ctx: ActionCtx, { _id: orderId }: Order, step: Step): Promise<Order> {
  return ctx.runMutation(internal.wallets.orders.steps.advance, { orderId, step });
}

type Options = {
  /** `false` for orders that an owner has approved: they go on after the deadline. */
  drops?: boolean;
  /** `false` for those that somebody else carries out. */
  drives?: boolean;
};

/**
 * Carries an order out and waits for its receipt. An order that is not signed by the deadline is dropped, so that the
 * answer is final. No trouble of a node ends the wait once something was signed.
 * @param waitMs In ms of real time.
 */
export const carry = counted(
  async (
    ctx,
    orderId: Id<"orders">,
    waitMs: number,
    { drops = true, drives = true }: Options = {},
  ): Promise<Order> => {
    const deadline = AbortSignal.timeout(waitMs);
    const pause = createPauses(ROW_PAUSE_MS);
    const view = () => ctx.runQuery(internal.wallets.orders.steps.view, { orderId });
    let row = await view();
    let receipt = { of: "", until: deadline, looks: 0 };
    while (!isEnded(row) && row.state !== "asked" && !deadline.aborted) {
      if (row.state === "prepared") {
        if (!drives) await pause();
        row = (await within(deadline, drives ? attempt(ctx, row, pause) : view())) ?? row;
        continue;
      }
      const of = row.firstHash ?? "";
      if (receipt.of !== of) receipt = { of, until: AbortSignal.timeout(waitOf(row)), looks: 0 };
      if (receipt.until.aborted) break;
      await sleep(RECEIPT_PAUSES_MS[receipt.looks++] ?? LONGEST_RECEIPT_PAUSE_MS);
      row = (await within(deadline, checkQuietly(ctx, row))) ?? row;
    }
    return drops && !isEnded(row) ? giveUp(ctx, await view()) : row;
  },
);

function waitOf(row: Order): number {
  return row.tries.at(-1)?.kind === "approve" ? deadlines.approval : deadlines.receipt;
}

/** Nothing is signed for a caller who was answered; what is signed goes on, except a swap after its approval. */
function giveUp(ctx: ActionCtx, row: Order): Promise<Order> | Order {
  if (row.state === "prepared" && row.approvalTxHash === undefined)
    return advance(ctx, row, { kind: "dropped", error: NOT_SENT, errorCode: "upstream" });
  const isApproving = row.state === "signed" && row.tries.at(-1)?.kind === "approve";
  return row.state === "prepared" || isApproving ? advance(ctx, row, { kind: "given up" }) : row;
}

/** Signs an order if it is its turn. @returns The order afterwards. */
async function attempt(ctx: ActionCtx, { _id: orderId }: Order, pause: () => Promise<void>): Promise<Order> {
  const turn = await ctx.runQuery(internal.wallets.orders.steps.turn, { orderId, now: Date.now() });
  const { row, blocker } = turn;
  if (row.state !== "prepared") return row;
  if (blocker !== null) {
    await pause();
    if (Date.now() - (blocker.tries.at(-1)?.at ?? 0) > HELD_UP_MS) await checkQuietly(ctx, blocker);
    return row;
  }
  try {
    if (!(await signNext(ctx, turn))) await pause();
  } catch (thrown) {
    const failure = failureOf(thrown);
    if (failure === null) log.error("wallets.unexpected", { orderId, message: messageOf(thrown) });
    const error = failure?.message ?? "Internal error";
    return advance(ctx, row, { kind: "dropped", error, errorCode: callerCode(failure?.code) });
  }
  return ctx.runQuery(internal.wallets.orders.steps.view, { orderId });
}

function callerCode(code: ErrorCode | undefined): ErrorCode {
  return code === "invalid_request" || code === "upstream" || code === "paused" || code === "forbidden"
    ? code
    : "internal";
}

/** One step of an order: signs it if it is its turn, or asks the chain about it. @throws AppError `upstream` */
export const progress = counted(async (ctx, orderId: Id<"orders">): Promise<Order> => {
  const row = await ctx.runQuery(internal.wallets.orders.steps.view, { orderId });
  return row.state === "prepared" ? attempt(ctx, row, () => Promise.resolve()) : check(ctx, row);
});

async function checkQuietly(ctx: ActionCtx, row: Order): Promise<Order> {
  try {
    return await check(ctx, row);
  } catch (error) {
    // What was signed is only decided by the chain: a node's trouble is "not known yet".
    log.warn("wallets.unknown", { orderId: row._id, error: messageOf(error) });
    return ctx.runQuery(internal.wallets.orders.steps.view, { orderId: row._id });
  }
}

/**
 * Asks the chain about a signed order, or about one that has ended by a receipt. What no node knows is sent again: the
 * same bytes, or, when it is time, others at the same nonce.
 * @throws AppError `upstream`
 */
export async function check(ctx: ActionCtx, row: Order): Promise<Order> {
  const { nonce, tries } = row;
  if (row.state !== "signed" && !isEnded(row)) return row;
  const own = tries.filter((one) => one.nonce === nonce);
  const last = own.at(-1);
  if (nonce === undefined || last === undefined) return row;
  const seen: Standing = await standingOf(
    storedAddress(row.address),
    nonce,
    own.map(({ hash }) => asHex(hash)),
  );
  if (seen.kind === "mined") {
    const { hash, succeeded } = seen;
    const bought = succeeded ? await boughtIn(row, seen) : undefined;
    return advance(ctx, row, { kind: "mined", hash, succeeded, ...(bought === undefined ? {} : { bought }) });
  }
  if (seen.kind === "used") return advance(ctx, row, { kind: "used", mined: seen.mined });
  if (seen.kind === "missing") for (const { raw } of isEnded(row) ? own : [last]) await broadcast(asHex(raw));
  if (isEnded(row)) return advance(ctx, row, { kind: "lost" });
  if (seen.kind === "unsure") return row;
  if (seen.mined < nonce && isLate(row)) return advance(ctx, row, { kind: "apart", mined: seen.mined });
  if (row.usedSince !== undefined) await advance(ctx, row, { kind: "free" });
  if (seen.mined === nonce) await signFurther(ctx, row);
  return ctx.runQuery(internal.wallets.orders.steps.view, { orderId: row._id });
}

/** What a mined swap has bought, by its receipt; `undefined` for other orders, and where it is not known. */
async function boughtIn({ _id, request, tries, address }: Order, mined: Mined): Promise<string | undefined> {
  const one = tries.find(({ hash }) => hash === mined.hash);
  if (request.kind !== "swap" || one?.kind !== "call") return undefined;
  // Wrapped ether is created without a transfer, one to one.
  if (isWrapping(request)) return request.amount;
  const owner = address.toLowerCase();
  const token = TOKENS[request.toToken].address?.toLowerCase();
  if (token !== undefined)
    return mined.transfers
      .filter((each) => each.token === token)
      .reduce(
        (sum, { from, to, amount }) => sum + (to === owner ? amount : 0n) - (from === owner ? amount : 0n),
        0n,
      )
      .toString();
  try {
    // Ether leaves no logs.
    const gained = await gainedIn(mined.blockNumber, storedAddress(address));
    return gained === null ? undefined : (gained + mined.fee).toString();
  } catch (error) {
    // The swap is confirmed all the same; its answer keeps the quoted amount.
    log.warn("wallets.outcome unknown", { orderId: _id, error: messageOf(error) });
    return undefined;
  }
}
