import { defineTable } from "convex/server";
import { v, type Infer } from "convex/values";
import type { RecordsOf } from "../lib/records/records";

export const vTransfer = v.object({
  /** Lower case. */
  txHash: v.string(),
  /**
   * Of its log among all the transaction's, from 0: unlike a log's index, which counts the whole block's, it stays when a
   * reorganisation puts the transaction into another block.
   */
  position: v.number(),
  /** Lower case. */
  from: v.string(),
  /** Digits, USDC's smallest unit. */
  amount: v.string(),
});
export type Transfer = Infer<typeof vTransfer>;

export const transferTables = {
  /**
   * Every USDC transfer to the platform wallet that bought something: the one place where a transfer is spent, so that
   * what a report has taken of a transfer never becomes credits. Written by `payments/transfers` alone. Kept for ever: a
   * row that died would open the transfer to replay.
   */
  spentTransfers: defineTable({
    ...vTransfer.fields,
    /** The paid claim that took the price of one report out of it. */
    claimKey: v.optional(v.string()),
    /** The deposit that credited it, or what a report left of it. */
    depositKey: v.optional(v.string()),
  }).index("by_transfer", ["txHash", "position"]),
};

export const transferRecords: RecordsOf<typeof transferTables> = {
  spentTransfers: { keep: "a row that died would open its transfer to replay" },
};
