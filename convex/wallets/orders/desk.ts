import { internal } from "../../_generated/api";
import type { Id } from "../../_generated/dataModel";
import type { ActionCtx } from "../../_generated/server";
import { failureOf, messageOf } from "../../lib/errors";
import type { Caller } from "../../lib/limits/callers";
import { log } from "../../lib/log";
import { MOST_FEE } from "../../lib/money/base";
import { deadlines } from "../../lib/outside/deadlines";
import { counted } from "../../lib/outside/calls";
import { createPauses, SECOND, sleep, within } from "../../lib/time";
import {
  broadcast,
  gainedIn,
  standingOf,
  type Mined,
  type Standing,
} from "../../providers/chain/transactions";
import { valuesOf } from "../holdings";
import { asHex, soldBy, storedAddress, type WalletKind } from "../model";
import type { Found, UserRequest } from "../tables";
import { TOKENS } from "../tokens";
import type { Payer } from "./calls";
import { isEnded, type Order } from "./model";
import type { Forecast } from "./placing";
import { callsOf, isLate, signFurther, signNext } from "./signer";
import type { Step } from "./steps";
import { isWrapping, type Offer } from "./swaps";

/** Brings orders to their end, or rehearses them: one check serves the waiting caller and the cron. For actions. */

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

/** An order as it is now. */
export function view(ctx: ActionCtx, orderId: Id<"orders">): Promise<Order> {
  return ctx.runQuery(internal.wallets.orders.steps.view, { orderId, now: Date.now() });
}

/**
 * Carries an order out and waits for its receipt. An order that is not signed by the deadline is dropped, so that the
 * answer is final. No trouble of a node ends the wait once something was signed.
 * @param waitMs In ms of real time.
 * @param isWatched It is waited for, its owner's answer first, and somebody else carries it out.
 */
export const carry = counted(
  async (ctx, orderId: Id<"orders">, waitMs: number, isWatched = false): Promise<Order> => {
    const deadline = AbortSignal.timeout(waitMs);
    const tap = AbortSignal.timeout(isWatched ? deadlines.tap : 0);
    const pause = createPauses(ROW_PAUSE_MS);
    let row = await view(ctx, orderId);
    let receipt = { of: -1, until: deadline, looks: 0 };
    while (!isEnded(row) && !deadline.aborted) {
      if (row.state === "signed") {
        const of = row.nonce ?? 0;
        if (receipt.of !== of) receipt = { of, until: AbortSignal.timeout(waitOf(row)), looks: 0 };
        if (receipt.until.aborted) break;
        await sleep(RECEIPT_PAUSES_MS[receipt.looks++] ?? LONGEST_RECEIPT_PAUSE_MS);
        row = (await within(deadline, checkQuietly(ctx, row))) ?? row;
        continue;
      }
      if (row.state === "asked" && tap.aborted) break;
      const isOurs = row.state === "prepared" && !isWatched;
      row = (await within(deadline, isOurs ? attempt(ctx, row, deadline) : view(ctx, orderId))) ?? row;
      if (row.state === "asked" || row.state === "prepared") await pause();
    }
    if (isWatched || isEnded(row)) return row;
    // Nothing is signed for a caller who was answered: a swap whose approval is mined later ends without one.
    row = await view(ctx, orderId);
    return row.state === "prepared" ? advance(ctx, row, { kind: "dropped" }) : row;
  },
);

function waitOf(row: Order): number {
  return row.tries.at(-1)?.kind === "approve" ? deadlines.approval : deadlines.receipt;
}

/** Signs an order if it is its turn. @param deadline Of what is not known yet. @returns The order afterwards. */
async function attempt(ctx: ActionCtx, { _id: orderId }: Order, deadline?: AbortSignal): Promise<Order> {
  const look = () => ctx.runQuery(internal.wallets.orders.steps.turn, { orderId, now: Date.now() });
  const turn = await look();
  const { row, blocker } = turn;
  if (row.state !== "prepared") return row;
  if (blocker !== null) {
    if (Date.now() - (blocker.tries.at(-1)?.at ?? 0) > HELD_UP_MS) await checkQuietly(ctx, blocker);
    return row;
  }
  try {
    await signNext(ctx, turn, deadline);
  } catch (thrown) {
    const present = await look();
    // Another order was signed meanwhile: this one was tried with what the wallet no longer has.
    if (present.next !== turn.next) return present.row;
    const failure = failureOf(thrown);
    if (failure === null) log.error("wallets.unexpected", { orderId, message: messageOf(thrown) });
    const { message: error, code: errorCode } = failure ?? { message: "Internal error", code: "internal" };
    return advance(ctx, row, { kind: "dropped", error, errorCode });
  }
  return view(ctx, orderId);
}

/** One step of an order: signs it if it is its turn, or asks the chain about it. @throws AppError `upstream` */
export const progress = counted(async (ctx, orderId: Id<"orders">): Promise<Order> => {
  const row = await view(ctx, orderId);
  return row.state === "prepared" ? attempt(ctx, row) : check(ctx, row);
});

async function checkQuietly(ctx: ActionCtx, row: Order): Promise<Order> {
  try {
    return await check(ctx, row);
  } catch (error) {
    // What was signed is only decided by the chain: a node's trouble is "not known yet".
    log.warn("wallets.unknown", { orderId: row._id, error: messageOf(error) });
    return view(ctx, row._id);
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
  if (seen.kind === "used") return advance(ctx, row, { kind: "astray", mined: seen.mined });
  if (seen.kind === "missing") for (const { raw } of isEnded(row) ? own : [last]) await broadcast(asHex(raw));
  // The block that decided it is gone: the cron looks at it again soon.
  if (isEnded(row) || seen.kind === "unsure") return row;
  if (seen.mined < nonce && isLate(row)) return advance(ctx, row, { kind: "astray", mined: seen.mined });
  if (row.usedSince !== undefined) await advance(ctx, row, { kind: "free" });
  if (seen.mined === nonce) await signFurther(ctx, row);
  return view(ctx, row._id);
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
    const gained = mined.fee === null ? null : await gainedIn(mined.block.number, storedAddress(address));
    return gained === null || mined.fee === null ? undefined : (gained + mined.fee).toString();
  } catch (error) {
    // The swap is confirmed all the same; its answer keeps the quoted amount.
    log.warn("wallets.outcome unknown", { orderId: _id, error: messageOf(error) });
    return undefined;
  }
}

export type Rehearsal = Forecast & {
  /** Of the sent or sold amount, in micro-USD; absent without a live price. */
  value?: string;
  /** Of a swap. */
  terms?: Order["terms"];
  /** Absent if its calls could not be made. */
  found?: Found;
};

/**
 * What an order would do: the calls and checks that orders pass, as far as they go without a signature. It signs, stores
 * and counts nothing.
 */
export const rehearse = counted(
  async (
    ctx: ActionCtx,
    order: { userId: string; kind: WalletKind; request: UserRequest },
    { address, keyHash }: Pick<Caller, "address" | "keyHash">,
  ): Promise<Rehearsal> => {
    const { etherPrice, ...value } = await valuesOf(soldBy(order.request));
    const forecast: Forecast = await ctx.runQuery(internal.wallets.orders.placing.forecast, {
      ...order,
      ...value,
      address,
      now: Date.now(),
      ...(keyHash === undefined ? {} : { keyHash }),
    });
    try {
      const { userId, request } = order;
      const payer = { ...forecast, userId, etherPrice };
      return { ...forecast, ...value, ...(await tryOut(ctx, payer, request, 1n)) };
    } catch (error) {
      const failure = failureOf(error);
      if (failure === null) throw error;
      return { ...forecast, ...value, refusal: forecast.refusal ?? failure };
    }
  },
);

/** @param margin By how much the fees may rise, up to the general limit, before the order is signed. */
async function tryOut(ctx: ActionCtx, payer: Payer, request: UserRequest, margin: bigint) {
  let offer: Offer | undefined;
  const fees: bigint[] = [];
  for await (const next of callsOf(ctx, { ...payer, request })) {
    fees.push(next.mostFee);
    offer = next.offer;
  }
  const dearest = fees.reduce((a, b) => (a > b ? a : b), 0n) * margin;
  const mostFee = dearest < MOST_FEE ? dearest : MOST_FEE;
  const found: Found = {
    mostFee: mostFee.toString(),
    feesInAll: (mostFee * BigInt(fees.length)).toString(),
    costBps: offer?.costBps ?? null,
    ...(offer === undefined ? {} : { minBuyAmount: offer.terms.minBuyAmount }),
  };
  return { found, ...(offer === undefined ? {} : { terms: offer.terms }) };
}

/**
 * What a question to the owner says: fees may double until they have tapped.
 * @throws AppError for orders that could not be carried out whatever the owner says.
 */
export const foundFor = counted(
  async (ctx: ActionCtx, payer: Omit<Payer, "etherPrice">, request: UserRequest) => {
    const values = await valuesOf(soldBy(request));
    const { found } = await tryOut(ctx, { ...payer, ...values }, request, 2n);
    return { ...values, found };
  },
);
