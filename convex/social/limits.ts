import { getOneFrom } from "convex-helpers/server/relationships";
import type { Doc } from "../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../_generated/server";
import { formatUnits, microUsd } from "../lib/money/amounts";
import { rowsByBoth } from "../lib/records/rows";
import { DAY, iso } from "../lib/time";

/**
 * Limits of mentions on a user's money: per trade, and in 24 hours. A user can lower them, not raise them. Counted by
 * UTC hour: an hour counts until all of it is a day ago.
 */

/** USD. A post is a weak authorisation for a trade: anybody who takes over the account can write one. */
export const MAX_TRADE_USD = "100";
export const MAX_DAY_USD = "300";

/** The most rows of two days, including whole days of earlier versions. */
const HOURS = 30;

type Limits = { perTrade: bigint; perDay: bigint };

/** In micro-USD. */
export async function limitsOf(ctx: QueryCtx, userId: string): Promise<Limits> {
  const row = await limitsRow(ctx, userId);
  return {
    perTrade: lower(microUsd(MAX_TRADE_USD), row?.perTrade),
    perDay: lower(microUsd(MAX_DAY_USD), row?.perDay),
  };
}

export async function limitsRow(ctx: QueryCtx, userId: string): Promise<Doc<"socialLimits"> | null> {
  return getOneFrom(ctx.db, "socialLimits", "by_userId", userId);
}

function lower(most: bigint, chosen: string | undefined): bigint {
  const wish = chosen === undefined ? most : BigInt(chosen);
  return wish < most ? wish : most;
}

/** `day`: the hour it was counted in. */
export type Share = { day: string; microUsd: string };

/**
 * Counts a trade against its user's limits, in the mutation that opens it, so that concurrent mentions cannot pass
 * together.
 * @param value Micro-USD.
 * @returns The counted share, or why the trade is refused.
 */
export async function takeShare(
  ctx: MutationCtx,
  userId: string,
  value: bigint,
  now: number,
): Promise<{ kind: "taken"; share: Share } | { kind: "refused"; reason: string }> {
  const { perTrade, perDay } = await limitsOf(ctx, userId);
  if (value > perTrade) {
    const reason = `A trade by mention may be worth at most ${formatUnits(perTrade, 6)} USD`;
    return { kind: "refused", reason };
  }
  const hour = hourOf(now);
  const recent = await ctx.db
    .query("socialDays")
    .withIndex("by_userId_and_day", (q) => q.eq("userId", userId).gte("day", hourOf(now - DAY)))
    .take(HOURS);
  const moved = recent.reduce((sum, { microUsd }) => sum + BigInt(microUsd), value);
  if (moved > perDay) {
    const reason = `This trade would pass the daily limit of ${formatUnits(perDay, 6)} USD by mention`;
    return { kind: "refused", reason };
  }
  const row = await rowOf(ctx, userId, hour);
  const counted = BigInt(row?.microUsd ?? "0") + value;
  if (row === null) await ctx.db.insert("socialDays", { userId, day: hour, microUsd: counted.toString() });
  else await ctx.db.patch("socialDays", row._id, { microUsd: counted.toString() });
  return { kind: "taken", share: { day: hour, microUsd: value.toString() } };
}

/** Gives back the share of a trade that moved nothing. */
export async function giveBack(ctx: MutationCtx, userId: string, share: Share): Promise<void> {
  const row = await rowOf(ctx, userId, share.day);
  if (row === null) return;
  const left = BigInt(row.microUsd) - BigInt(share.microUsd);
  await ctx.db.patch("socialDays", row._id, { microUsd: (left > 0n ? left : 0n).toString() });
}

/** `2026-01-05T09`. A whole day, as earlier versions counted, sorts before its hours. */
function hourOf(ms: number): string {
  return iso(ms).slice(0, "2026-01-05T09".length);
}

async function rowOf(ctx: QueryCtx, userId: string, hour: string) {
  return rowsByBoth(ctx.db.query("socialDays"), "userId", userId, "day", hour).unique();
}
