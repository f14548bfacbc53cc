import { getOneFrom } from "convex-helpers/server/relationships";
import type { Doc } from "../_generated/dataModel";
import type { QueryCtx } from "../_generated/server";
import { microUsd } from "../lib/money/amounts";
import { rowsBy } from "../lib/records/rows";

/** Linked authors, and the limits of their mentions on a user's money. */

/** The most accounts per user. */
export const MAX_AUTHORS = 5;
/** USD. A post is a weak authorisation for a trade: anybody who takes over the account can write one. */
export const MAX_TRADE_USD = "100";
export const MAX_DAY_USD = "300";

/** The linked author of an account of the network, or `null`. */
export async function authorById(ctx: QueryCtx, authorId: string): Promise<Doc<"socialAuthors"> | null> {
  return getOneFrom(ctx.db, "socialAuthors", "by_authorId", authorId);
}

/** The accounts that a user has proved, oldest first. */
export async function authorsOf(ctx: QueryCtx, userId: string): Promise<Doc<"socialAuthors">[]> {
  return rowsBy(ctx.db.query("socialAuthors"), "userId", userId).take(MAX_AUTHORS);
}

/** Per trade, and in 24 hours, in micro-USD: a user can lower them, not raise them. `wallets/orders/limits` counts. */
export async function limitsOf(ctx: QueryCtx, userId: string): Promise<{ perTrade: bigint; perDay: bigint }> {
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
