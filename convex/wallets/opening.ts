import { internal } from "../_generated/api";
import type { Doc, Id } from "../_generated/dataModel";
import type { MutationCtx } from "../_generated/server";
import { isOn } from "../lib/env";
import { AppError } from "../lib/errors";
import { DRIVER_LEASE_MS, PREPARED_FOR_MS } from "./machine";
import { byWalletId, openedWith, sameRequest } from "./rows";
import type { Source, TransactionRequest } from "./tables";
import { openTrade, type Mentioned } from "./trades";
import { reserve } from "./transferLimits";

export type Order = {
  userId: string;
  walletId: string;
  request: TransactionRequest;
  source: Source;
  idempotencyKey?: string;
  /** Micro-USD; `null` when no live price is known. */
  value: bigint | null;
  /** The social mention that asked for it. */
  mentioned?: Mentioned;
};

/**
 * Opens a transaction: its idempotency key, its share of the limits, its row and its trade, in one step, and sees that
 * somebody works through the wallet's queue.
 * @param begin Sees to that; a driver of its own unless the caller is to be the driver.
 * @returns The transaction, the first one when the key was used before with the same request.
 * @throws AppError `conflict` when the key was used for another request; `paused`; `invalid_request` when a limit
 * would be passed.
 */
export async function openTransaction(
  ctx: MutationCtx,
  order: Order,
  begin: (ctx: MutationCtx, wallet: Doc<"wallets">, now: number) => Promise<void> = startDriver,
): Promise<Id<"transactions">> {
  const { userId, walletId, request, source, idempotencyKey, value, mentioned } = order;
  const earlier = await openedWith(ctx, userId, idempotencyKey);
  if (earlier !== null) {
    if (earlier.walletId !== walletId || !sameRequest(earlier.request, request)) {
      throw new AppError("conflict", "This idempotency key was used for another request");
    }
    return earlier._id;
  }
  if (isOn("TRADING_PAUSED")) throw new AppError("paused", "Sends and swaps are paused: try again later");
  const wallet = await byWalletId(ctx, walletId);
  const reserved = await reserve(ctx, userId, value);
  const now = Date.now();
  const transactionId = await ctx.db.insert("transactions", {
    walletId,
    userId,
    address: wallet.address,
    request,
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    state: "prepared",
    ...(reserved === null ? {} : { reserved }),
    createdAt: now,
    nextCheckAt: now + PREPARED_FOR_MS,
    checks: 0,
  });
  await openTrade(ctx, { userId, source, transactionId, request, now, mentioned });
  await begin(ctx, wallet, now);
  return transactionId;
}

/** Sees that somebody works through a wallet's queue: a driver whose lease ran out is replaced. */
export async function startDriver(ctx: MutationCtx, wallet: Doc<"wallets">, now: number): Promise<void> {
  const { walletId } = wallet;
  const driver = await takeTerm(ctx, wallet, now);
  if (driver !== null) await ctx.scheduler.runAfter(0, internal.wallets.driver.drive, { walletId, driver });
}

/** Makes the caller the wallet's driver. @returns The number of its term; `null` while another driver is at work. */
export async function takeTerm(
  ctx: MutationCtx,
  wallet: Doc<"wallets">,
  now: number,
): Promise<number | null> {
  if (wallet.driverUntil > now) return null;
  const driver = wallet.driver + 1;
  await ctx.db.patch("wallets", wallet._id, { driver, driverUntil: now + DRIVER_LEASE_MS });
  return driver;
}
