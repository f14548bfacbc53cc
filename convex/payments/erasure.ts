import type { MutationCtx } from "../_generated/server";

/**
 * Makes a user's payments anonymous, some at a time. The rows stay, because a payment without its row could be made use
 * of again; what they bought and whose they were goes. The ledger knows whom a deposit was credited to.
 * @returns How many rows were changed.
 */
export async function anonymisePayments(ctx: MutationCtx, userId: string, limit: number): Promise<number> {
  const deposits = await ctx.db
    .query("deposits")
    .withIndex("by_userId", (q) => q.eq("userId", userId))
    .take(limit);
  for (const { _id } of deposits) await ctx.db.patch("deposits", _id, { userId: undefined });
  const claims = await ctx.db
    .query("paymentClaims")
    .withIndex("by_userId", (q) => q.eq("order.userId", userId))
    .take(limit);
  for (const { _id, order } of claims) {
    // The same proof and request still find their claim: orders are told apart by their hash.
    const { focus, bodyHash } = order;
    await ctx.db.patch("paymentClaims", _id, { order: { focus, bodyHash } });
  }
  return deposits.length + claims.length;
}
