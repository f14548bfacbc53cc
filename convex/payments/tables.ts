import { defineTable } from "convex/server";
import { v, type Infer } from "convex/values";
import type { RecordsOf } from "../lib/records/records";

export const vTransfer = v.object({
  /** Lower case. */
  txHash: v.string(),
  /**
   * The index of its log in the transaction, from 0. Unlike a log's index in the block, it stays the same when a
   * reorganisation moves the transaction into another block.
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
   * Every USDC transfer to the platform wallet that bought something. Transfers are spent only here, so that the part
   * that a report has used never becomes credits. Written by `payments/transfers` alone. Kept for ever: a row that died
   * would open the transfer to replay.
   */
  spentTransfers: defineTable({
    ...vTransfer.fields,
    /** The paid claim that took the price of one report out of it. */
    claimKey: v.optional(v.string()),
    /** The deposit that credited it, or the rest of it. */
    depositKey: v.optional(v.string()),
  }).index("by_transfer", ["txHash", "position"]),
};

export const transferRecords: RecordsOf<typeof transferTables> = {
  spentTransfers: { keep: "a row that died would open its transfer to replay" },
};
