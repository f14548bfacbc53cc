import { v } from "convex/values";
import { internalQuery, type QueryCtx } from "../_generated/server";
import { checksummed } from "../lib/addresses";
import { linkedUser } from "../users/model";
import { NOBODY } from "../lib/ids";

/** Whose address it is, by the service's wallets first and by the addresses users have linked; `null` when nobody's. */
export async function userIdByAddress(ctx: QueryCtx, address: string): Promise<string | null> {
  const stored = checksummed(address);
  if (stored === null) return null;
  const wallet = await ctx.db
    .query("wallets")
    .withIndex("by_address", (q) => q.eq("address", stored))
    .unique();
  return wallet === null || wallet.userId === NOBODY ? linkedUser(ctx, stored) : wallet.userId;
}

/** The same as a function, for actions. */
export const byAddress = internalQuery({
  args: { address: v.string() },
  returns: v.union(v.string(), v.null()),
  handler: (ctx, { address }) => userIdByAddress(ctx, address),
});
