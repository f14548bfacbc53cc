import { defineTable } from "convex/server";
import { v } from "convex/values";

export const transferTables = {
  /**
   * Every USDC transfer to the platform wallet that bought something: the one place where a transfer is spent, shared by
   * paid reports and deposits, so that one transfer never buys both. Written by `payments/transfers` alone. Kept for
   * ever: a row that died would open the transfer to replay.
   */
  spentTransfers: defineTable({
    /** Lower case. */
    txHash: v.string(),
    /** Of its log among the transaction's, from 0. */
    position: v.number(),
    /** Lower case. */
    from: v.string(),
    /** Digits, USDC's smallest unit. */
    amount: v.string(),
    /** The paid claim that took the price of one report out of it. */
    claimKey: v.optional(v.string()),
    /** The deposit that credited it, or what a report left of it. */
    depositKey: v.optional(v.string()),
  }).index("by_transfer", ["txHash", "position"]),
};
