import { defineTable } from "convex/server";
import { v, type Infer } from "convex/values";
import { literals } from "../lib/literals";
import { vPriceSource } from "../prices/tables";
import { ofUser, older, type RecordsOf } from "../lib/records/records";
import { SYMBOLS } from "./tokens";

export const vWalletKind = literals("basic", "custody");

export const vSymbol = literals(...SYMBOLS);

export const vSource = literals("web", "x", "telegram");

/**
 * What a limit counts: everything moved; what leaves a user; what leaves all users whose ids could be guessed, by the
 * caller's address; what is moved by `userId` alone, by a key, from the chat, and by mention; what swaps may lose by their
 * terms; what goes to recipients that are not on the owner's list.
 */
export const vMeasure = literals(
  "moved",
  "left",
  "leftByAddress",
  "byId",
  "byKey",
  "byChat",
  "byMention",
  "lost",
  "unlisted",
);

/** An address's holding of one token, and its value. */
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
   * Every account that the service signs for: one per user and kind, and one per key of the payment relayer and of the
   * anchor, which belong to nobody. Written by `wallets/model` (created) and `wallets/transactions` (nonce, driver,
   * permits). Kept.
   */
  wallets: defineTable({
    /** The custody module's handle, by which it finds the key. */
    walletId: v.string(),
    userId: v.string(),
    kind: v.union(vWalletKind, v.literal("relayer"), v.literal("anchor")),
    /** Checksummed. */
    address: v.string(),
    createdAt: v.number(),
    /** The nonce of the next transaction, once one was signed. */
    nextNonce: v.optional(v.number()),
    /** The current driver of this wallet's transactions: the number of its term. */
    driver: v.number(),
    /** Until when the driver may be silent, epoch ms; 0 if none is working. Absent on a wallet of 0.1.0 until it is driven again. */
    leaseUntil: v.optional(v.number()),
    /** On rows of 0.1.0. */
    driverUntil: v.optional(v.number()),
    /** The permits signed in the last half hour: 32 bytes of each signature, and its expiry, epoch ms. */
    permits: v.optional(v.array(v.object({ r: v.string(), endsAt: v.number() }))),
  })
    .index("by_userId_and_kind", ["userId", "kind"])
    .index("by_walletId", ["walletId"])
    .index("by_address", ["address"]),

  /**
   * Amounts that count against a limit over rolling 24 hours. Written by `wallets/limits/windows` in the transaction
   * that reserves; a row dies two days after its last change.
   */
  transferWindows: defineTable({
    /** "" for a limit of a network address or a key. */
    userId: v.string(),
    /** The network address, hashed, or `key:` and a key's id; "" for a limit of a user. */
    address: v.string(),
    measure: vMeasure,
    /**
     * Oldest first, at most one per quarter of an hour: the time of its last transfer, epoch ms, and the sum in digits,
     * micro-USD.
     */
    entries: v.array(v.object({ at: v.number(), microUsd: v.string() })),
    updatedAt: v.number(),
  })
    .index("by_whose", ["userId", "address", "measure"])
    .index("by_updatedAt", ["updatedAt"]),

  /**
   * Recipients to whom an owner's wallets send more than a little (`wallets/limits/allowlist`); the name is older than
   * that use. Written by `account/recipients`, and by `wallets/limits/allowlist` when an owner has sent or approved;
   * removing deletes.
   */
  socialRecipients: defineTable({
    userId: v.string(),
    /** Checksummed. */
    address: v.string(),
    addedAt: v.number(),
    /** Epoch ms from which it counts; rows of earlier versions have none and count. */
    countsFrom: v.optional(v.number()),
  })
    .index("by_userId_and_address", ["userId", "address"])
    .index("by_userId_and_countsFrom", ["userId", "countsFrom"]),

  /**
   * Every swap and send as a trade, and the commands of mentions that nobody could read (`unknown`), which have no
   * transaction, tokens or amount. Written by `wallets/trades` in the transaction of the order. Kept.
   */
  trades: defineTable({
    userId: v.string(),
    action: literals("buy", "sell", "swap", "send", "unknown"),
    source: vSource,
    transactionId: v.optional(v.id("transactions")),
    /** The social mention that ordered it. */
    mentionId: v.optional(v.id("mentions")),
    /** Handle of the mutation to call, with the mention's id, when it has ended. */
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
    withheld: ["driver", "leaseUntil", "driverUntil", "permits"],
  },
  transferWindows: {
    keep: {
      days: 2,
      why: "the limits are of 24 hours",
      aged: older("updatedAt"),
    },
    ownedBy: { rows: ofUser("by_whose"), section: "transferWindows", onDeletion: "stay" },
  },
  socialRecipients: {
    keep: "the user's settings",
    ownedBy: { rows: ofUser("by_userId_and_address"), section: "socialRecipients", onDeletion: "go" },
  },
  trades: {
    keep: "the user's history",
    ownedBy: { rows: ofUser("by_userId"), section: "trades", onDeletion: "stay" },
    final: { field: "status", states: ["confirmed", "failed"] },
    withheld: ["onSettled"],
  },
};
