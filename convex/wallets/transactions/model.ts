import { internal } from "../../_generated/api";
import type { Doc, Id } from "../../_generated/dataModel";
import type { QueryCtx, MutationCtx } from "../../_generated/server";
import { isOn } from "../../lib/env";
import { AppError, KEY_USED } from "../../lib/errors";
import { rowsByBoth } from "../../lib/records/rows";
import { PAUSED } from "../../lib/security/refusals";
import type { Permit } from "../../users/access";
import { isListFull, list } from "../limits/allowlist";
import { reserve } from "../limits/policies";
import { byWalletId, walletAt } from "../model";
import type { Source } from "../tables";
import { openTrade, type Mentioned } from "../trades";
import { allow } from "./permissions";
import { DRIVER_LEASE_MS, PREPARED_FOR_MS } from "./states";
import type { TransactionRequest } from "./tables";

/**
 * The rows of the transaction machine (`states.ts`): finding and opening them, and the driver of a wallet's queue. Plain
 * functions; those that write are steps of their caller's mutation.
 */

type Transaction = Doc<"transactions">;

export async function byId(ctx: QueryCtx, id: Id<"transactions">): Promise<Transaction> {
  const row = await ctx.db.get("transactions", id);
  if (row === null) throw new AppError("internal", "The transaction is gone");
  return row;
}

export async function oldest(ctx: QueryCtx, walletId: string, state: "signed" | "unknown" | "prepared") {
  return rowsByBoth(ctx.db.query("transactions"), "walletId", walletId, "state", state).first();
}

export async function openedWith(ctx: QueryCtx, userId: string, idempotencyKey: string | undefined) {
  if (idempotencyKey === undefined) return null;
  return rowsByBoth(
    ctx.db.query("transactions"),
    "userId",
    userId,
    "idempotencyKey",
    idempotencyKey,
  ).unique();
}

function sameRequest(a: TransactionRequest, b: TransactionRequest): boolean {
  const canonical = (request: TransactionRequest) => JSON.stringify(Object.entries(request).sort());
  return canonical(a) === canonical(b);
}

type Order = {
  userId: string;
  walletId: string;
  request: TransactionRequest;
  source: Source;
  idempotencyKey?: string;
  /** Micro-USD; `null` when no live price is known. */
  value: bigint | null;
  /** The permit of the caller who orders it (`users/access`). */
  permit: Permit;
  /** The caller's network address; `null` if the order came by no network. */
  address: string | null;
  /** The social mention that ordered it. */
  mentioned?: Mentioned;
  /** The most that mentions may move in 24 hours, in micro-USD, for an order by one. */
  mentionsMost?: bigint;
  /** What its owner was shown: the least that a swap may bring, and the most that one transaction may cost (wei). */
  minBuyAmount?: string | undefined;
  mostFee?: string | undefined;
};

/** The kind of act, for the check of who may order it. */
export function deedOf({ kind }: TransactionRequest): "send" | "swap" {
  return kind === "swap" ? "swap" : "send";
}

/**
 * Opens a transaction in one step: its idempotency key, its share of the limits, its row, its trade, and a driver for
 * the wallet's queue.
 * @param begin Starts the driver; by default one of its own, unless the caller drives.
 * @returns The transaction; if the key was used before with the same request, the first one.
 * @throws AppError `conflict` if the key was used for another request; `paused`; `invalid_request` if a limit would be
 * exceeded.
 */
export async function openTransaction(
  ctx: MutationCtx,
  order: Order,
  begin: (ctx: MutationCtx, wallet: Doc<"wallets">, now: number) => Promise<void> = startDriver,
): Promise<Id<"transactions">> {
  const { userId, walletId, request, source, idempotencyKey, value, permit, address, mentioned } = order;
  const { minBuyAmount, mostFee } = order;
  const earlier = await openedWith(ctx, userId, idempotencyKey);
  if (earlier !== null) {
    if (earlier.walletId !== walletId || !sameRequest(earlier.request, request)) {
      throw new AppError("conflict", KEY_USED);
    }
    return earlier._id;
  }
  const paused = pauseOf();
  if (paused !== null) throw paused;
  const wallet = await byWalletId(ctx, walletId);
  const transfer = { userId, permit, address, request, mentionsMost: order.mentionsMost };
  const reserved = await reserve(ctx, transfer, value);
  const now = Date.now();
  const permissionId = await allow(ctx, { walletId, userId, by: permit.by, request, minBuyAmount, mostFee });
  const transactionId = await ctx.db.insert("transactions", {
    walletId,
    userId,
    address: wallet.address,
    request,
    permissionId,
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    state: "prepared",
    ...(reserved === null ? {} : { reserved }),
    createdAt: now,
    nextCheckAt: now + PREPARED_FOR_MS,
    checks: 0,
  });
  await openTrade(ctx, { userId, source, transactionId, request, now, mentioned });
  if (permit.by === "owner" || permit.by === "approval") await noteRecipient(ctx, wallet, request);
  // An order that was tapped for has its own card.
  if (permit.by !== "approval" && permit.by !== "chat" && permit.by !== "unclaimed")
    await ctx.scheduler.runAfter(0, internal.wallets.orders.notices.tell, {
      transactionId,
      way: wayOf(order),
    });
  await begin(ctx, wallet, now);
  return transactionId;
}

/** How an order came, in words for its owner. */
function wayOf({ source, permit: { by, key } }: Pick<Order, "source" | "permit">): string {
  if (source === "x") return "by a post of yours";
  if (key !== undefined) return `with your key ${key.name}`;
  return by === "id" ? "by your account id alone" : "with your token";
}

/** Lists a recipient whom the owner has sent to, or tapped for; it counts two hours later. */
async function noteRecipient(
  ctx: MutationCtx,
  { userId }: Doc<"wallets">,
  request: TransactionRequest,
): Promise<void> {
  if (request.kind !== "send" || (await walletAt(ctx, request.toAddress))?.userId === userId) return;
  if (!(await isListFull(ctx, userId))) await list(ctx, userId, request.toAddress);
}

/** The refusal of all sends and swaps; `null` unless the operator has paused them. */
export function pauseOf(): AppError | null {
  return isOn("TRADING_PAUSED") ? new AppError("paused", PAUSED) : null;
}

/** Makes sure that a wallet's queue has a driver: one whose lease ran out is replaced. */
export async function startDriver(ctx: MutationCtx, wallet: Doc<"wallets">, now: number): Promise<void> {
  const { walletId } = wallet;
  const driver = await takeTerm(ctx, wallet, now);
  if (driver !== null)
    await ctx.scheduler.runAfter(0, internal.wallets.transactions.driver.drive, { walletId, driver });
}

/** Makes the caller the wallet's driver. @returns The number of its term; `null` while another driver is at work. */
export async function takeTerm(
  ctx: MutationCtx,
  wallet: Doc<"wallets">,
  now: number,
): Promise<number | null> {
  if ((wallet.leaseUntil ?? 0) > now) return null;
  const driver = wallet.driver + 1;
  await ctx.db.patch("wallets", wallet._id, { driver, leaseUntil: now + DRIVER_LEASE_MS });
  return driver;
}
