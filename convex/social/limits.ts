import { getOneFrom } from "convex-helpers/server/relationships";
import type { Doc } from "../_generated/dataModel";
import type { QueryCtx } from "../_generated/server";
import { microUsd } from "../lib/money/amounts";

/**
 * Limits of mentions on a user's money: per trade, and in 24 hours (`wallets/limits` counts). A user can lower them, not
 * raise them.
 */

/** USD. A post is a weak authorisation for a trade: anybody who takes over the account can write one. */
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
