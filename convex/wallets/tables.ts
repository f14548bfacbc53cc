import { defineTable } from "convex/server";
import { v, type Infer } from "convex/values";
import { vPriceSource } from "../prices/tables";

export const vWalletKind = v.union(v.literal("basic"), v.literal("custody"));

export const vSymbol = v.union(
  v.literal("ETH"),
  v.literal("USDC"),
  v.literal("USDT"),
  v.literal("DAI"),
  v.literal("WETH"),
);

/** Amounts are digits in the token's smallest unit. */
export const vRequest = v.union(
  v.object({ kind: v.literal("send"), token: vSymbol, toAddress: v.string(), amount: v.string() }),
  v.object({
    kind: v.literal("swap"),
    fromToken: vSymbol,
    toToken: vSymbol,
    amount: v.string(),
    slippageBps: v.number(),
    /** The caller takes the quote on the provider's word alone when no price feed can say anything about it. */
    acceptUnpriced: v.optional(v.boolean()),
  }),
  /** The allowance a swap needs first: `spender` may take `amount` of `token`. */
  v.object({ kind: v.literal("approve"), token: vSymbol, spender: v.string(), amount: v.string() }),
  /** Carries out a signed payment: the claim `claimKey` says which. The relayer's alone. */
  v.object({ kind: v.literal("settlement"), claimKey: v.string() }),
  /** Puts the head of the signal record on the chain. The anchor's alone. */
  v.object({ kind: v.literal("anchor"), sequence: v.number(), hash: v.string() }),
  /** Moves nothing: takes a nonce whose transaction is gone, so that those behind it can be mined. */
  v.object({ kind: v.literal("fill") }),
);

export const vState = v.union(
  /** Asked for; nothing is signed. */
  v.literal("prepared"),
  /** The signed bytes are stored; nobody outside has them yet. */
  v.literal("signed"),
  /** A node has it. */
  v.literal("broadcast"),
  /** It was handed out and nobody knows whether it arrived. */
  v.literal("unknown"),
  v.literal("confirmed"),
  v.literal("failed"),
);

export const vSource = v.union(v.literal("web"), v.literal("x"), v.literal("telegram"));

export const vSwapTerms = v.object({
  sellAmount: v.string(),
  buyAmount: v.string(),
  minBuyAmount: v.string(),
  /** The quote was held against the price feeds. */
  priceChecked: v.boolean(),
});

/** What a swap has sold and bought, by its receipt. */
export const vTraded = v.object({ sellAmount: v.string(), buyAmount: v.string() });

/** Other bytes with the same nonce and higher fees: of all of a transaction's bytes one at most is ever mined. */
const replaced = {
  /** `withdrawal`: it moves nothing, in place of what can no longer be mined. */
  kind: v.union(v.literal("repriced"), v.literal("withdrawal")),
  txHash: v.string(),
};
export const vReplacement = v.object({
  ...replaced,
  rawTransaction: v.string(),
  /** Earlier replacements, which may be mined as well. */
  outpriced: v.array(v.object(replaced)),
});

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

export type TransactionRequest = Infer<typeof vRequest>;
export type TransactionState = Infer<typeof vState>;
export type Source = Infer<typeof vSource>;
export type SwapTerms = Infer<typeof vSwapTerms>;
export type Replacement = Infer<typeof vReplacement>;

export const walletTables = {
  /**
   * Every account that the service signs for: one per user and kind, written by `wallets/wallets`, and one per key of the
   * payment relayer and of the anchor, which are nobody's (`wallets/serviceAccounts`). Kept.
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
    /** Who is working through this wallet's transactions, and until when it may be silent. */
    driver: v.number(),
    driverUntil: v.number(),
  })
    .index("by_userId_and_kind", ["userId", "kind"])
    .index("by_walletId", ["walletId"])
    .index("by_address", ["address"]),

  /** Every transaction of every account, from the request to its end. Written by `wallets/transactions`. Kept. */
  transactions: defineTable({
    walletId: v.string(),
    userId: v.string(),
    address: v.string(),
    request: vRequest,
    /** An approval's swap. */
    parentId: v.optional(v.id("transactions")),
    idempotencyKey: v.optional(v.string()),
    state: vState,
    /** Counted against the daily limit of this UTC day, in micro-USD. */
    reserved: v.optional(v.object({ day: v.string(), microUsd: v.string() })),
    nonce: v.optional(v.number()),
    /** When the signed bytes were first handed out; from then on only the chain decides. */
    handedOutAt: v.optional(v.number()),
    /** Since when the chain's answers look as if another transaction had its nonce, and how many in a row. */
    replacedSince: v.optional(v.number()),
    replacedAnswers: v.optional(v.number()),
    /** The bytes as they were signed first, and their hash, by which its user knows it. */
    rawTransaction: v.optional(v.string()),
    txHash: v.optional(v.string()),
    replacement: v.optional(vReplacement),
    /** The hash under which it was mined, where that is a replacement's. */
    minedAs: v.optional(v.string()),
    terms: v.optional(vSwapTerms),
    traded: v.optional(vTraded),
    /** A swap's approval. */
    approvalTxHash: v.optional(v.string()),
    /** Why it failed, and the error code its caller is told. */
    error: v.optional(v.string()),
    errorCode: v.optional(v.string()),
    createdAt: v.number(),
    endedAt: v.optional(v.number()),
    /** When the follow-up looks after it again, twice after its end as well; then `NEVER`. */
    nextCheckAt: v.number(),
    checks: v.number(),
  })
    .index("by_walletId_and_state", ["walletId", "state"])
    .index("by_walletId_and_nonce", ["walletId", "nonce"])
    .index("by_userId_and_idempotencyKey", ["userId", "idempotencyKey"])
    .index("by_userId_and_txHash", ["userId", "txHash"])
    .index("by_nextCheckAt", ["nextCheckAt"]),

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
    action: v.union(
      v.literal("buy"),
      v.literal("sell"),
      v.literal("swap"),
      v.literal("send"),
      v.literal("unknown"),
    ),
    source: vSource,
    transactionId: v.optional(v.id("transactions")),
    /** The social mention that asked for it. */
    mentionId: v.optional(v.id("mentions")),
    fromToken: v.optional(vSymbol),
    toToken: v.optional(vSymbol),
    toAddress: v.optional(v.string()),
    amount: v.optional(v.string()),
    status: v.union(v.literal("pending"), v.literal("confirmed"), v.literal("failed")),
    txHash: v.optional(v.string()),
    error: v.optional(v.string()),
    createdAt: v.number(),
  })
    .index("by_userId", ["userId", "createdAt"])
    .index("by_transactionId", ["transactionId"]),
};
