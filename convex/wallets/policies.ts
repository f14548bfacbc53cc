import type { MutationCtx, QueryCtx } from "../_generated/server";
import { optional, setting } from "../lib/env";
import { AppError } from "../lib/errors";
import { isGuessable } from "../lib/ids";
import { microUsd } from "../lib/money";
import { rowsByBoth } from "../lib/rows";
import { dayOf } from "../lib/time";
import { ownerOf } from "../users/model";

/** What one transaction and one UTC day of a user may move, as the operator configured it. */

type Reservation = { day: string; microUsd: string };

/** Whether the value of a user's transfer has to be known at all. */
export function limitsApply(userId: string): boolean {
  const configured =
    optional("MAX_TRANSFER_USD") !== undefined || optional("DAILY_TRANSFER_LIMIT_USD") !== undefined;
  return configured || weakLimit(userId) !== null;
}

/** What a `userId` that could be guessed may move in a day, in USD; `null` for a long one, or where the operator set 0. */
function weakLimit(userId: string): string | null {
  const limit = setting("WEAK_ID_DAILY_USD");
  return isGuessable(userId) && Number(limit) > 0 ? limit : null;
}

/** What a user may move in a day, in USD: the lower of the operator's limit and the one of an id that guards too little. */
async function perDayOf(ctx: QueryCtx, userId: string): Promise<string | undefined> {
  const configured = optional("DAILY_TRANSFER_LIMIT_USD");
  const weak = weakLimit(userId);
  // A signed-in user's is guarded by their token.
  if (weak === null || (await ownerOf(ctx, userId)) !== null) return configured;
  return configured === undefined || Number(weak) < Number(configured) ? weak : configured;
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
  const perTransfer = optional("MAX_TRANSFER_USD");
  const perDay = await perDayOf(ctx, userId);
  if (perTransfer === undefined && perDay === undefined) return null;
  if (value === null) {
    throw new AppError(
      "upstream",
      "No live price is known for this transfer, and transfers are limited by value",
    );
  }
  if (perTransfer !== undefined && value > microUsd(perTransfer)) {
    throw new AppError("invalid_request", `A transfer may be worth at most ${perTransfer} USD`);
  }
  const day = dayOf(Date.now());
  const moved = BigInt((await movedOn(ctx, userId, day))?.microUsd ?? 0) + value;
  if (perDay !== undefined && moved > microUsd(perDay)) {
    const why = perDay === weakLimit(userId) ? " of a userId that is short enough to be guessed" : "";
    throw new AppError("invalid_request", `This transfer would pass the daily limit of ${perDay} USD${why}`);
  }
  await count(ctx, userId, day, value);
  return { day, microUsd: value.toString() };
}

/** Gives back what a transfer that moved nothing had reserved. */
export async function release(ctx: MutationCtx, userId: string, reservation: Reservation): Promise<void> {
  await count(ctx, userId, reservation.day, -BigInt(reservation.microUsd));
}

/** Counts a transfer after all that was given back: it was mined. Beyond a limit as well, as it has happened. */
export async function reserveAgain(
  ctx: MutationCtx,
  userId: string,
  reservation: Reservation,
): Promise<void> {
  await count(ctx, userId, reservation.day, BigInt(reservation.microUsd));
}

/** Adds to what a user has moved on a day, in micro-USD; takes off where it is negative, down to nothing. */
async function count(ctx: MutationCtx, userId: string, day: string, microUsd: bigint): Promise<void> {
  const row = await movedOn(ctx, userId, day);
  const moved = BigInt(row?.microUsd ?? 0) + microUsd;
  const counted = (moved > 0n ? moved : 0n).toString();
  if (row !== null) await ctx.db.patch("transferDays", row._id, { microUsd: counted });
  else if (moved >= 0n) await ctx.db.insert("transferDays", { userId, day, microUsd: counted });
}

async function movedOn(ctx: QueryCtx, userId: string, day: string) {
  return rowsByBoth(ctx.db.query("transferDays"), "userId", userId, "day", day).unique();
}
