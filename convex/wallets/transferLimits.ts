import type { MutationCtx } from "../_generated/server";
import { optional } from "../lib/env";
import { AppError } from "../lib/errors";
import { microUsd } from "../lib/money";
import { iso } from "../lib/time";

/** What one transaction and one UTC day of a user may move, as the operator configured it. */

export type Reservation = { day: string; microUsd: string };

/** Whether a transfer's value has to be known at all. */
export function limitsApply(): boolean {
  return optional("MAX_TRANSFER_USD") !== undefined || optional("DAILY_TRANSFER_LIMIT_USD") !== undefined;
}

/**
 * Counts a transfer against the limits, in the mutation that opens it: calls that race cannot pass together.
 * @param value Micro-USD; `null` when no live price says what it is worth, which fails closed.
 * @throws AppError `invalid_request` when a limit would be passed.
 */
export async function reserve(
  ctx: MutationCtx,
  userId: string,
  value: bigint | null,
): Promise<Reservation | null> {
  if (!limitsApply()) return null;
  if (value === null) {
    throw new AppError(
      "upstream",
      "No live price says what this transfer is worth, and transfers are limited by value",
    );
  }
  const perTransfer = optional("MAX_TRANSFER_USD");
  if (perTransfer !== undefined && value > microUsd(perTransfer)) {
    throw new AppError("invalid_request", `A transfer may be worth at most ${perTransfer} USD`);
  }
  const day = iso(Date.now()).slice(0, "2026-01-01".length);
  const row = await dayOf(ctx, userId, day);
  const moved = BigInt(row?.microUsd ?? "0") + value;
  const perDay = optional("DAILY_TRANSFER_LIMIT_USD");
  if (perDay !== undefined && moved > microUsd(perDay)) {
    throw new AppError("invalid_request", `This transfer would pass the daily limit of ${perDay} USD`);
  }
  if (row === null) await ctx.db.insert("transferDays", { userId, day, microUsd: moved.toString() });
  else await ctx.db.patch("transferDays", row._id, { microUsd: moved.toString() });
  return { day, microUsd: value.toString() };
}

/** Gives back what a transfer that moved nothing had reserved. */
export async function release(ctx: MutationCtx, userId: string, reservation: Reservation): Promise<void> {
  const row = await dayOf(ctx, userId, reservation.day);
  if (row === null) return;
  const left = BigInt(row.microUsd) - BigInt(reservation.microUsd);
  await ctx.db.patch("transferDays", row._id, { microUsd: (left > 0n ? left : 0n).toString() });
}

/** Counts a transfer after all that was given back: it was mined. Beyond a limit as well, as it has happened. */
export async function reserveAgain(
  ctx: MutationCtx,
  userId: string,
  reservation: Reservation,
): Promise<void> {
  const { day } = reservation;
  const row = await dayOf(ctx, userId, day);
  const moved = (BigInt(row?.microUsd ?? "0") + BigInt(reservation.microUsd)).toString();
  if (row === null) await ctx.db.insert("transferDays", { userId, day, microUsd: moved });
  else await ctx.db.patch("transferDays", row._id, { microUsd: moved });
}

/** Forgets what a user moved before today; today's sum goes on counting. @returns How many rows went. */
export async function eraseTransferDays(ctx: MutationCtx, userId: string, limit: number): Promise<number> {
  const today = iso(Date.now()).slice(0, "2026-01-01".length);
  const rows = await ctx.db
    .query("transferDays")
    .withIndex("by_userId_and_day", (q) => q.eq("userId", userId).lt("day", today))
    .take(limit);
  for (const { _id } of rows) await ctx.db.delete("transferDays", _id);
  return rows.length;
}

async function dayOf(ctx: MutationCtx, userId: string, day: string) {
  return ctx.db
    .query("transferDays")
    .withIndex("by_userId_and_day", (q) => q.eq("userId", userId).eq("day", day))
    .unique();
}
