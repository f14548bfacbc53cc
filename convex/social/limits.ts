import { getOneFrom } from "convex-helpers/server/relationships";
import type { Doc } from "../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../_generated/server";
import { formatUnits, microUsd } from "../lib/money";
import { rowsByBoth } from "../lib/rows";
import { dayOf } from "../lib/time";

/** What mentions may move of a user's money: per trade, and per UTC day. A user may lower it and never raise it. */

/** USD. A post is a weak word for a trade: anybody who gets hold of the account can write one. */
export const MAX_TRADE_USD = "100";
export const MAX_DAY_USD = "300";

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

export type Share = { day: string; microUsd: string };

/**
 * Counts a trade against its user's limits, in the mutation that opens it: mentions that race cannot pass together.
 * @param value Micro-USD.
 * @returns The share that was counted, or why the trade may not be.
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
  const day = dayOf(now);
  const row = await dayRow(ctx, userId, day);
  const moved = BigInt(row?.microUsd ?? "0") + value;
  if (moved > perDay) {
    const reason = `This trade would pass the daily limit of ${formatUnits(perDay, 6)} USD by mention`;
    return { kind: "refused", reason };
  }
  if (row === null) await ctx.db.insert("socialDays", { userId, day, microUsd: moved.toString() });
  else await ctx.db.patch("socialDays", row._id, { microUsd: moved.toString() });
  return { kind: "taken", share: { day, microUsd: value.toString() } };
}

/** Gives back what a trade that moved nothing had counted. */
export async function giveBack(ctx: MutationCtx, userId: string, share: Share): Promise<void> {
  const row = await dayRow(ctx, userId, share.day);
  if (row === null) return;
  const left = BigInt(row.microUsd) - BigInt(share.microUsd);
  await ctx.db.patch("socialDays", row._id, { microUsd: (left > 0n ? left : 0n).toString() });
}

async function dayRow(ctx: QueryCtx, userId: string, day: string) {
  return rowsByBoth(ctx.db.query("socialDays"), "userId", userId, "day", day).unique();
}
