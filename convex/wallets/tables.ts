import { defineTable } from "convex/server";
import { v, type Infer } from "convex/values";
import { literals } from "convex-helpers/validators";
import { vPriceSource } from "../prices/tables";
import { made, ofUser, type RecordsOf } from "../lib/records";
import { dayOf } from "../lib/time";
import { SYMBOLS } from "./tokens";

export const vWalletKind = literals("basic", "custody");

export const vSymbol = literals(...SYMBOLS);

export const vSource = literals("web", "x", "telegram");

/** What an address holds of one token, and what that is worth. */
export const vHolding = v.object({
  token: vSymbol,
  /** Exact decimal. */
  balance: v.string(),
  /** The same in the smallest unit. */
  raw: v.string(),
  decimals: v.number(),
  priceUsd: v.union(v.number(), v.null()),
  priceSource: v.union(vPriceSource, v.null()),
  valueUsd: v.union(v.number(), v.null()),
});

export type Source = Infer<typeof vSource>;

export const walletTables = {
  /**
   * Every account that the service signs for: one per user and kind, written by `wallets/wallets`, and one per key of the
   * payment relayer and of the anchor, which are nobody's (`wallets/transactions/serviceAccounts`). Kept.
   */
  wallets: defineTable({
    /** The custody module's handle; keys are found by it alone. */
    walletId: v.string(),
    userId: v.string(),
    kind: v.union(vWalletKind, v.literal("relayer"), v.literal("anchor")),
    /** Checksummed. */
    address: v.string(),
    createdAt: v.number(),
    /** The nonce of the next transaction, once one was signed. */
    nextNonce: v.optional(v.number()),
    /** Who works through this wallet's transactions: a number that counts terms. */
    driver: v.number(),
    /** Until when the driver may be silent, epoch ms; 0 when none is at work. Absent until a wallet of 0.1.0 is driven again. */
    leaseUntil: v.optional(v.number()),
    /** On rows of 0.1.0. */
    driverUntil: v.optional(v.number()),
  })
    .index("by_userId_and_kind", ["userId", "kind"])
    .index("by_walletId", ["walletId"])
    .index("by_address", ["address"]),

  /**
   * What a user has moved on a UTC day, for the daily limit. Written with the transaction that reserves; deleting the
   * account erases past days. Dies after 90 days.
   */
  transferDays: defineTable({
    userId: v.string(),
    day: v.string(),
    /** Digits, micro-USD. */
    microUsd: v.string(),
  }).index("by_userId_and_day", ["userId", "day"]),

  /**
   * Every swap and send as a trade, written with its transaction; and what a mention asked for that nobody could read
   * (`unknown`), which has no transaction, tokens or amount. Kept.
   */
  trades: defineTable({
    userId: v.string(),
    action: literals("buy", "sell", "swap", "send", "unknown"),
    source: vSource,
    transactionId: v.optional(v.id("transactions")),
    /** The social mention that asked for it. */
    mentionId: v.optional(v.id("mentions")),
    /** Handle of the mutation that is told, with the mention's id, when it has ended. */
    onSettled: v.optional(v.string()),
    fromToken: v.optional(vSymbol),
    toToken: v.optional(vSymbol),
    toAddress: v.optional(v.string()),
    amount: v.optional(v.string()),
    status: literals("pending", "confirmed", "failed"),
    txHash: v.optional(v.string()),
    error: v.optional(v.string()),
    createdAt: v.number(),
  })
    .index("by_userId", ["userId", "createdAt"])
    .index("by_transactionId", ["transactionId"]),
};

export const walletRecords: RecordsOf<typeof walletTables> = {
  wallets: {
    keep: "they hold money, and the relayer's its next nonce",
    ownedBy: { rows: ofUser("by_userId_and_kind"), section: "wallets", inUse: "any", onDeletion: "stay" },
    withheld: ["driver", "leaseUntil", "driverUntil"],
  },
  transferDays: {
    keep: {
      days: 90,
      why: "the limit is of one day; late refunds of failed transactions find it this much longer",
      aged: made,
    },
    ownedBy: {
      rows: ofUser("by_userId_and_day"),
      section: "transferDays",
      // Today's sum goes on counting.
      onDeletion: {
        only: (rows, userId) =>
          rows.withIndex("by_userId_and_day", (q) => q.eq("userId", userId).lt("day", dayOf(Date.now()))),
      },
    },
  },
  trades: {
    keep: "the user's history",
    ownedBy: { rows: ofUser("by_userId"), section: "trades", onDeletion: "stay" },
    final: { field: "status", states: ["confirmed", "failed"] },
    withheld: ["onSettled"],
  },
};
