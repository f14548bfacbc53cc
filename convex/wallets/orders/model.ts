import type { Doc, Id } from "../../_generated/dataModel";
import { internal } from "../../_generated/api";
import type { MutationCtx, QueryCtx } from "../../_generated/server";
import { AppError, KEY_USED, type ErrorCode } from "../../lib/errors";
import { log } from "../../lib/log";
import { MOST_FEE } from "../../lib/money/base";
import { recordAudit } from "../../lib/records/audit";
import { NOBODY } from "../../lib/records/records";
import { rowsByBoth } from "../../lib/records/rows";
import { MINUTE, NEVER, SECOND } from "../../lib/time";
import { tellOwner } from "../../messenger/webhooks/events";
import { liveRules } from "../../accounts/model";
import { serviceWalletId, type ServiceRole } from "../serviceOrders";
import { byWalletId, insertWallet, walletById } from "../model";
import { NOT_SENT, pauseOf, PREPARED_FOR_MS } from "../rules";
import type { Request, Source, Try, UserRequest } from "../tables";
import { openTrade, settleTrade, type Mentioned } from "../trades";
import { addressKey, countOf, credentialOf, limitsOf, refusalOf, type Ordering } from "./limits";

/** The rows of orders: opening them, and every step of their lives (`states.md`). Plain functions, steps of their caller's mutation. */

export type Order = Doc<"orders">;

const REVERTED = "The transaction was mined and reverted";
const WITHDRAWN = "The transaction could no longer be mined and was withdrawn: only a network fee was spent";
const USED = "Another transaction took this one's place";
export const NOT_SWAPPED =
  "The approval that the swap needs was not mined in time: nothing was swapped, and the order is over";

/** Answers that call a nonce used otherwise count from here on: a lagging node may not have the receipt yet. */
const USED_AFTER_MS = MINUTE;
/** When an outcome is looked at once more: the block that decided it may have been dropped. */
const LOOK_BACK_MS = MINUTE;
/** How many rows of an account may be signed at the same time. */
const MOST_SIGNED = 1;
const MOST_SIGNED_SERVICE = 8;
/** A service account's key may be in use elsewhere as well: so many of its transactions may be unknown here. */
export const FURTHEST_AHEAD = 16;

export async function byId(ctx: QueryCtx, id: Id<"orders">): Promise<Order> {
  const row = await ctx.db.get("orders", id);
  if (row === null) throw new AppError("internal", "The order is gone");
  return row;
}

/** Whether the chain has mined its call, which failed: other failures have left no call on the chain. */
export function hasReverted({ state, error }: Pick<Order, "state" | "error">): boolean {
  return state === "failed" && error === REVERTED;
}

export function isEnded({ state }: Pick<Order, "state">): boolean {
  return state === "confirmed" || state === "failed";
}

export type NewOrder = Ordering & {
  walletId: string;
  source: Source;
  /** Of the amount, in micro-USD; `null` without a live price. And of one ether. */
  value: bigint | null;
  etherPrice: bigint;
  idempotencyKey?: string | undefined;
  /** The social mention that ordered it. */
  mentioned?: Mentioned;
  /** What its owner was shown: the least that a swap may bring, and the most that one transaction may cost (wei). */
  minBuyAmount?: string | undefined;
  mostFee?: string | undefined;
};

/**
 * Opens an order: its idempotency key, its part of the limits, its row and its trade, in one step.
 * @returns The order; if the key was used before with the same terms, the first one.
 * @throws AppError `conflict` if the key was used for other terms; `paused`; `invalid_request`, `forbidden`, `upstream`
 * as `refusalOf`.
 */
export async function openOrder(ctx: MutationCtx, order: NewOrder): Promise<Id<"orders">> {
  const earlier = await earlierOf(ctx, order);
  if (earlier !== null) return earlier._id;
  const fields = await newFields(ctx, order);
  const now = Date.now();
  const id = await ctx.db.insert("orders", {
    ...fields,
    ...(await countedFields(ctx, order, now)),
    state: "prepared",
    nextCheckAt: now + PREPARED_FOR_MS,
  });
  await begin(ctx, await byId(ctx, id), order.mentioned);
  return id;
}

/** The order that an earlier request with the same key has opened. @throws AppError `conflict` if it had other terms. */
export async function earlierOf(
  ctx: QueryCtx,
  order: Pick<NewOrder, "userId" | "walletId" | "request" | "by" | "key" | "idempotencyKey">,
): Promise<Order | null> {
  const key = scopedKey(order);
  if (key === undefined) return null;
  const row = await rowsByBoth(
    ctx.db.query("orders"),
    "userId",
    order.userId,
    "idempotencyKey",
    key,
  ).unique();
  if (row !== null && (row.walletId !== order.walletId || !sameRequest(row.request, order.request)))
    throw new AppError("conflict", KEY_USED);
  return row;
}

/** A key belongs to the account, the credential and the endpoint. */
function scopedKey({
  request,
  by,
  key,
  idempotencyKey,
}: Pick<NewOrder, "request" | "by" | "key" | "idempotencyKey">): string | undefined {
  if (idempotencyKey === undefined) return undefined;
  return `${request.kind} ${credentialOf({ by, keyId: key?.id })} ${idempotencyKey}`;
}

/** The key as its caller has sent it. */
export function callersKey({ idempotencyKey = "" }: Pick<Order, "idempotencyKey">): string {
  return idempotencyKey.replace(/^\S+ \S+ /, "");
}

export function sameRequest(a: Request, b: Request): boolean {
  const canonical = (request: Request) => JSON.stringify(Object.entries(request).sort());
  return canonical(a) === canonical(b);
}

/** The fields of a new row that both an opened and an asked order have. @throws AppError `paused`. */
export async function newFields(ctx: MutationCtx, order: NewOrder) {
  const { userId, walletId, request, source, by, key, value, etherPrice } = order;
  const paused = pauseOf();
  if (paused !== null) throw paused;
  const { address } = await byWalletId(ctx, walletId);
  const { version: rules } = await liveRules(ctx, userId);
  const keyId = key === undefined ? null : ctx.db.normalizeId("keys", key.id);
  const idempotencyKey = scopedKey(order);
  const now = Date.now();
  return {
    walletId,
    userId,
    address,
    request,
    by,
    ...(keyId === null ? {} : { keyId }),
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    source,
    rules,
    mostFee: order.mostFee ?? MOST_FEE.toString(),
    ...(order.minBuyAmount === undefined ? {} : { minBuyAmount: order.minBuyAmount }),
    ...(value === null ? {} : { value: value.toString() }),
    counted: "0",
    feeCounted: "0",
    etherPrice: etherPrice.toString(),
    tries: [],
    preparedAt: now,
    createdAt: now,
  };
}

/** Counts an order, in the mutation that opens it or answers its question. @throws AppError as `refusalOf`. */
export async function countedFields(ctx: MutationCtx, order: NewOrder, now: number) {
  const limits = await limitsOf(ctx, order, now);
  const refusal = await refusalOf(ctx, order, limits, order.value, now);
  if (refusal !== null) throw refusal;
  const { userId, request, value } = order;
  const counted = value === null ? 0n : await countOf(ctx, userId, request, value);
  const countedFor = addressKey(order);
  return {
    counted: counted.toString(),
    countedAt: now,
    ...(countedFor === undefined ? {} : { countedFor }),
  };
}

/** What begins with an order: its trade, and word to its owner. */
export async function begin(ctx: MutationCtx, row: Order, mentioned?: Mentioned): Promise<void> {
  await openTrade(ctx, row, mentioned);
  // An order that was tapped for has its own card.
  if (row.by === "tap" || row.by === "chat" || row.by === "free") return;
  await ctx.scheduler.runAfter(0, internal.wallets.orders.notices.begun, { orderId: row._id });
}

/**
 * Opens an order of a service account: it has no owner and no limits. The caller carries it out with `desk.carry`.
 * @param address The account's, checksummed.
 */
export async function openServiceOrder(
  ctx: MutationCtx,
  role: ServiceRole,
  address: string,
  request: Exclude<Request, UserRequest>,
): Promise<Id<"orders">> {
  const walletId = serviceWalletId(role, address);
  if ((await walletById(ctx, walletId)) === null)
    await insertWallet(ctx, { walletId, userId: NOBODY, kind: role, address });
  const now = Date.now();
  return ctx.db.insert("orders", {
    walletId,
    userId: NOBODY,
    address,
    request,
    state: "prepared",
    by: "service",
    source: "web",
    rules: 0,
    mostFee: MOST_FEE.toString(),
    counted: "0",
    feeCounted: "0",
    etherPrice: "0",
    tries: [],
    preparedAt: now,
    createdAt: now,
    nextCheckAt: now + PREPARED_FOR_MS,
  });
}

/** The oldest signed row of an account, once it has as many as it may; `null` while another may be signed. */
export async function blockerOf(ctx: QueryCtx, walletId: string, userId: string): Promise<Order | null> {
  const most = userId === NOBODY ? MOST_SIGNED_SERVICE : MOST_SIGNED;
  const signed = await signedOf(ctx, walletId, most);
  return signed.length < most ? null : (signed[0] ?? null);
}

/** The signed rows of an account, oldest first. */
export async function signedOf(ctx: QueryCtx, walletId: string, most: number): Promise<Order[]> {
  return rowsByBoth(ctx.db.query("orders"), "walletId", walletId, "state", "signed").take(most);
}

/** Stores an order's bytes and takes their nonce. The caller has checked that it may be signed. */
export async function storeTry(
  ctx: MutationCtx,
  row: Order,
  signed: Omit<Try, "at">,
  { fee, terms }: { fee: bigint; terms?: NonNullable<Order["terms"]> | undefined },
): Promise<void> {
  const at = Date.now();
  const spent = BigInt(row.feeCounted) + (fee * BigInt(row.etherPrice)) / 10n ** 18n;
  await ctx.db.patch("orders", row._id, {
    state: "signed",
    nonce: signed.nonce,
    tries: [...row.tries, { ...signed, at }],
    txHash: signed.hash,
    ...(row.firstHash === undefined || row.state === "prepared" ? { firstHash: signed.hash } : {}),
    feeCounted: spent.toString(),
    ...(terms === undefined ? {} : { terms }),
    nextCheckAt: at + 20 * SECOND,
  });
  await recordAudit(ctx, {
    actor: row.userId === NOBODY ? row.address : row.userId,
    action: "transaction signed",
    subject: row._id,
    detail: `${signed.kind === "call" ? row.request.kind : signed.kind} ${signed.hash}`,
  });
}

/** Ends an order that was not signed; a key that it was opened with is free again. */
export async function drop(ctx: MutationCtx, row: Order, error: string, errorCode: ErrorCode): Promise<void> {
  if (row.state !== "prepared") return;
  await finish(
    ctx,
    row,
    { state: "failed", error, errorCode },
    { idempotencyKey: undefined, nextCheckAt: NEVER },
  );
}

/** The chain has mined one of an order's transactions. */
export async function mined(
  ctx: MutationCtx,
  row: Order,
  receipt: { hash: string; succeeded: boolean; traded?: NonNullable<Order["traded"]> | undefined },
): Promise<void> {
  const { hash, succeeded, traded } = receipt;
  const one = row.tries.find((each) => each.hash === hash);
  if (one === undefined || row.state === "asked" || row.state === "prepared") return;
  const now = Date.now();
  if (one.kind === "approve") {
    const over = { approvalTxHash: hash, txHash: undefined, firstHash: undefined, ...lookBack(now) };
    if (isEnded(row)) return ctx.db.patch("orders", row._id, { nextCheckAt: NEVER });
    const problem = succeeded ? row.error : APPROVAL_REFUSED;
    if (problem !== undefined) return finish(ctx, row, failed(undefined, problem), over);
    return ctx.db.patch("orders", row._id, {
      state: "prepared",
      approvalTxHash: hash,
      txHash: undefined,
      firstHash: undefined,
      usedSince: undefined,
      preparedAt: now,
      nextCheckAt: now + PREPARED_FOR_MS,
    });
  }
  const outcome = !succeeded
    ? failed(hash, REVERTED)
    : one.kind === "empty"
      ? failed(hash, WITHDRAWN)
      : { state: "confirmed" as const, txHash: hash, ...(traded === undefined ? {} : { traded }) };
  if (isEnded(row) && row.state === outcome.state && row.txHash === hash)
    return ctx.db.patch("orders", row._id, { nextCheckAt: NEVER });
  if (isEnded(row)) log.warn("wallets.end corrected", { orderId: row._id, to: outcome.state });
  await finish(ctx, row, outcome, lookBack(now));
}

const APPROVAL_REFUSED = "The token refused the approval that the swap needs: nothing was swapped";

type Outcome = {
  state: "confirmed" | "failed";
  txHash?: string;
  error?: string;
  errorCode?: ErrorCode;
  traded?: NonNullable<Order["traded"]>;
};

function failed(txHash: string | undefined, error: string): Outcome {
  return { state: "failed", ...(txHash === undefined ? {} : { txHash }), error, errorCode: "upstream" };
}

/** `undefined` removes a field. */
type Changes = Partial<Pick<Order, "approvalTxHash" | "nextCheckAt">> & {
  [Field in "idempotencyKey" | "txHash" | "firstHash" | "usedSince"]?: Order[Field] | undefined;
};

function lookBack(now: number): Changes {
  return { nextCheckAt: now + LOOK_BACK_MS, usedSince: undefined };
}

/**
 * The chain's answer, some blocks back, is that the nonce is used, and none of the order's transactions is mined.
 * @param count How many of the account's transactions are mined there.
 */
export async function usedOtherwise(ctx: MutationCtx, row: Order, count: number): Promise<void> {
  if (isEnded(row)) return ctx.db.patch("orders", row._id, { nextCheckAt: NEVER });
  if (row.state !== "signed") return;
  const { nextNonce = 0 } = await byWalletId(ctx, row.walletId);
  // More than this service has given out is no answer about this order.
  if (count > nextNonce + (row.userId === NOBODY ? FURTHEST_AHEAD : 0)) return;
  if (await isToldAgain(ctx, row))
    await finish(ctx, row, failed(undefined, USED), { ...lookBack(Date.now()), usedSince: row.usedSince });
}

/**
 * A service account's order was signed for a nonce that is not the next one, because a node had counted too many, and
 * nothing that is known here can come before it: all such orders of the account end, and the count starts again. What
 * they were for is safe to do twice.
 */
export async function endApart(ctx: MutationCtx, row: Order, mined: number): Promise<void> {
  if (row.state !== "signed" || row.userId !== NOBODY) return;
  const wallet = await byWalletId(ctx, row.walletId);
  const isKnown = await ctx.db
    .query("orders")
    .withIndex("by_walletId_and_nonce", (q) => q.eq("walletId", row.walletId).eq("nonce", mined))
    .first();
  if (isKnown !== null || !(await isToldAgain(ctx, row))) return;
  log.error("wallets.nonces apart", { address: row.address, mined, nonce: row.nonce });
  await ctx.db.patch("wallets", wallet._id, { nextNonce: mined });
  for (const one of await signedOf(ctx, row.walletId, MOST_SIGNED_SERVICE))
    await finish(ctx, one, failed(undefined, USED), { nextCheckAt: NEVER });
}

/** Whether what the chain says of an order's nonce was said a minute ago as well; it is noted. */
async function isToldAgain(ctx: MutationCtx, { _id, usedSince }: Order): Promise<boolean> {
  const now = Date.now();
  if (usedSince === undefined)
    await ctx.db.patch("orders", _id, { usedSince: now, nextCheckAt: now + USED_AFTER_MS });
  return usedSince !== undefined && now - usedSince >= USED_AFTER_MS;
}

/** Writes an order's end, with all that follows from it. */
async function finish(ctx: MutationCtx, row: Order, outcome: Outcome, further: Changes): Promise<void> {
  const { state, txHash = row.txHash, error, errorCode, traded } = outcome;
  const short = state === "confirmed" ? shortfallOf({ ...row, traded }) : null;
  const end = {
    state,
    error,
    errorCode,
    traded,
    ...(txHash === undefined ? {} : { txHash }),
    ...(short === null ? {} : { shortAt: Date.now() }),
    endedAt: Date.now(),
    ...further,
  };
  await ctx.db.patch("orders", row._id, end);
  const ended = await byId(ctx, row._id);
  await tellOfEnd(ctx, ended);
  if (short !== null) {
    log.error("wallets.swap fell short", { orderId: row._id });
    await recordAudit(ctx, { actor: row.userId, action: "swap fell short", subject: row._id, detail: short });
  }
  await settleTrade(ctx, ended, faultOf(ended));
  if (ended.question !== undefined)
    await ctx.scheduler.runAfter(0, internal.wallets.orders.notices.ended, { orderId: row._id });
}

/** Tells the webhooks of whose order it is. */
async function tellOfEnd(ctx: MutationCtx, row: Order): Promise<void> {
  const { userId, _id: orderId, request, txHash, traded, state } = row;
  if (request.kind !== "send" && request.kind !== "swap") return;
  const error = faultOf(row);
  await tellOwner(ctx, userId, "transaction.ended", () => {
    const ended = { status: state, error, success: state === "confirmed" && error === null };
    return { transactionId: orderId, ...request, txHash, ...ended, traded };
  });
}

/**
 * How much less a mined swap has bought than its call guaranteed, in words; `null` if it kept the guarantee. 0x's
 * contract would revert instead, so the contract is not what its registry says, or the node lies.
 */
export function shortfallOf({
  terms,
  traded,
}: {
  terms?: Order["terms"] | undefined;
  traded?: Order["traded"] | undefined;
}): string | null {
  if (terms === undefined || traded === undefined) return null;
  if (BigInt(traded.buyAmount) >= BigInt(terms.minBuyAmount)) return null;
  return `The swap was mined and has bought ${traded.buyAmount} rather than at least ${terms.minBuyAmount}: the service has been alerted`;
}

/** Why an order did not do what it was for; `null` if it did, or may still. */
export function faultOf(row: Order): string | null {
  return row.state === "failed" ? (row.error ?? NOT_SENT) : shortfallOf(row);
}
