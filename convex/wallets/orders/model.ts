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
import type { Request, UserRequest } from "../tables";
import { addressKey, credentialOf, weigh, type Ordering } from "./limits";

/** The rows of orders, and opening them. Plain functions, steps of their caller's mutation. */

export type Order = Doc<"orders">;

export const REVERTED = "The transaction was mined and reverted";

/** How many rows of an account may be signed at the same time. */
const MOST_SIGNED = 1;
export const MOST_SIGNED_SERVICE = 8;

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

/** Why an order did not do what it was for; `null` if it did, or may still. */
export function faultOf({ state, error }: Order): string | null {
  if (state === "failed") return error ?? NOT_SENT;
  return state === "confirmed" ? (error ?? null) : null;
}

/** `vPlacing`, with who orders. */
export type NewOrder = Ordering & {
  walletId: string;
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
 * as `weigh` refuses.
 */
export async function openOrder(ctx: MutationCtx, order: NewOrder): Promise<Id<"orders">> {
  const earlier = await earlierOf(ctx, order);
  if (earlier !== null) return earlier._id;
  const now = Date.now();
  const id = await ctx.db.insert("orders", {
    ...(await newFields(ctx, order)),
    ...(await countedFields(ctx, order, now)),
    state: "prepared",
    nextCheckAt: now + PREPARED_FOR_MS,
  });
  await openTrade(ctx, await byId(ctx, id), order.mentioned);
  return id;
}

type Keyed = Pick<NewOrder, "userId" | "walletId" | "request" | "by" | "key" | "idempotencyKey">;

/** The order that an earlier request with the same key has opened. @throws AppError `conflict` if it had other terms. */
export async function earlierOf(ctx: QueryCtx, order: Keyed): Promise<Order | null> {
  const { userId, walletId, request } = order;
  const key = scopedKey(order);
  if (key === undefined) return null;
  const rows = rowsByBoth(ctx.db.query("orders"), "userId", userId, "idempotencyKey", key);
  const row = await rows.unique();
  if (row !== null && !isLike(row, walletId, request)) throw new AppError("conflict", KEY_USED);
  return row;
}

/** Whether an order has these terms. */
export function isLike(row: Order, walletId: string, request: Request): boolean {
  const canonical = (one: Request) => JSON.stringify(Object.entries(one).sort());
  return row.walletId === walletId && canonical(row.request) === canonical(request);
}

/** A key belongs to the account, the credential and the endpoint. */
function scopedKey({ request, by, key, idempotencyKey }: Omit<Keyed, "walletId">): string | undefined {
  if (idempotencyKey === undefined) return undefined;
  return `${request.kind} ${credentialOf({ by, keyId: key?.id })} ${idempotencyKey}`;
}

/** The key as its caller has sent it. */
export function callersKey({ idempotencyKey = "" }: Pick<Order, "idempotencyKey">): string {
  return idempotencyKey.replace(/^\S+ \S+ /, "");
}

/** The fields of a new row that both an opened and an asked order have. @throws AppError `paused`. */
export async function newFields(ctx: MutationCtx, order: NewOrder) {
  const { userId, walletId, request, by, key, value, etherPrice, minBuyAmount, mostFee } = order;
  const paused = pauseOf();
  if (paused !== null) throw paused;
  const { address } = await byWalletId(ctx, walletId);
  const { version: rules } = await liveRules(ctx, userId);
  const keyId = key === undefined ? null : ctx.db.normalizeId("keys", key.id);
  const idempotencyKey = scopedKey(order);
  return {
    ...blankFields(mostFee),
    ...{ walletId, userId, address, request, by, rules, etherPrice },
    ...(keyId === null ? {} : { keyId }),
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    ...(minBuyAmount === undefined ? {} : { minBuyAmount }),
    ...(value === undefined ? {} : { value }),
  };
}

/** Of which nothing was counted or signed. */
function blankFields(mostFee = MOST_FEE.toString()) {
  return { mostFee, counted: "0", feeCounted: "0", tries: [] };
}

/** Counts an order, in the mutation that opens it or answers its question. @throws AppError as `weigh` refuses. */
export async function countedFields(ctx: MutationCtx, order: Ordering, now: number) {
  const { refusal, counted, isLoose } = await weigh(ctx, order, now);
  if (refusal !== null) throw refusal;
  const countedFor = addressKey(order);
  return {
    counted: counted.toString(),
    countedAt: now,
    isLoose,
    ...(countedFor === undefined ? {} : { countedFor }),
  };
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
