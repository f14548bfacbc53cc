import { internal } from "../../_generated/api";
import type { Doc, Id } from "../../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../../_generated/server";
import { liveRules } from "../../accounts/model";
import { AppError, KEY_USED } from "../../lib/errors";
import { MOST_FEE } from "../../lib/money/base";
import { NOBODY } from "../../lib/records/records";
import { rowsByBoth } from "../../lib/records/rows";
import {
  byWalletId,
  insertWallet,
  NOT_SENT,
  openTrade,
  pauseOf,
  PREPARED_FOR_MS,
  serviceWalletId,
  walletById,
  type Mentioned,
  type ServiceRole,
} from "../model";
import type { Request, Source, UserRequest } from "../tables";
import { addressKey, countOf, credentialOf, isLoose, limitsOf, refusalOf, type Ordering } from "./limits";

/** The rows of orders, and opening them. Plain functions, steps of their caller's mutation. */

export type Order = Doc<"orders">;

export const REVERTED = "The transaction was mined and reverted";

/** How many rows of an account may be signed at the same time. */
const MOST_SIGNED = 1;
export const MOST_SIGNED_SERVICE = 8;
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

/** `vPlacing`, with who orders. */
export type NewOrder = Ordering & {
  walletId: string;
  source: Source;
  etherPrice: string;
  idempotencyKey?: string | undefined;
  minBuyAmount?: string | undefined;
  mostFee?: string | undefined;
  /** The social mention that ordered it. */
  mentioned?: Mentioned;
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
  const { userId, walletId, request, source, by, key, value, etherPrice, minBuyAmount, mostFee } = order;
  const paused = pauseOf();
  if (paused !== null) throw paused;
  const { address } = await byWalletId(ctx, walletId);
  const { version: rules } = await liveRules(ctx, userId);
  const keyId = key === undefined ? null : ctx.db.normalizeId("keys", key.id);
  const idempotencyKey = scopedKey(order);
  return {
    ...blankFields(mostFee),
    walletId,
    userId,
    address,
    request,
    by,
    source,
    rules,
    etherPrice,
    ...(keyId === null ? {} : { keyId }),
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    ...(minBuyAmount === undefined ? {} : { minBuyAmount }),
    ...(value === undefined ? {} : { value }),
  };
}

/** Of which nothing was counted or signed. */
function blankFields(mostFee = MOST_FEE.toString()) {
  const now = Date.now();
  return { mostFee, counted: "0", feeCounted: "0", tries: [], preparedAt: now, createdAt: now };
}

/** Counts an order, in the mutation that opens it or answers its question. @throws AppError as `refusalOf`. */
export async function countedFields(ctx: MutationCtx, order: Ordering, now: number) {
  const refusal = await refusalOf(ctx, order, await limitsOf(ctx, order, now), now);
  if (refusal !== null) throw refusal;
  const countedFor = addressKey(order);
  return {
    counted: (await countOf(ctx, order)).toString(),
    countedAt: now,
    isLoose: await isLoose(ctx, order, now),
    ...(countedFor === undefined ? {} : { countedFor }),
  };
}

/** What begins with an order: its trade, and word to its owner. */
export async function begin(ctx: MutationCtx, row: Order, mentioned?: Mentioned): Promise<void> {
  await openTrade(ctx, row, mentioned);
  // An order that was tapped for has its own card.
  if (row.by === "tap" || row.by === "chat" || row.by === "free") return;
  await ctx.scheduler.runAfter(0, internal.wallets.orders.questions.begun, { orderId: row._id });
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
  return ctx.db.insert("orders", {
    ...blankFields(),
    walletId,
    userId: NOBODY,
    address,
    request,
    state: "prepared",
    by: "service",
    source: "web",
    rules: 0,
    etherPrice: "0",
    nextCheckAt: Date.now() + PREPARED_FOR_MS,
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

/** Why an order did not do what it was for; `null` if it did, or may still. */
export function faultOf({ state, error }: Order): string | null {
  if (state === "failed") return error ?? NOT_SENT;
  return state === "confirmed" ? (error ?? null) : null;
}
