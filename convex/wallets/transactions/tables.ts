import { defineTable } from "convex/server";
import { v, type Infer } from "convex/values";
import { vCredential } from "../../lib/limits/callers";
import { vMeasure, vSymbol } from "../tables";
import { due, ofUser, type RecordsOf } from "../../lib/records/records";

/** Amounts are digits in the token's smallest unit. */
export const vRequest = v.union(
  v.object({ kind: v.literal("send"), token: vSymbol, toAddress: v.string(), amount: v.string() }),
  v.object({
    kind: v.literal("swap"),
    fromToken: vSymbol,
    toToken: vSymbol,
    amount: v.string(),
    slippageBps: v.number(),
    /** The caller accepts the quote on the provider's word alone if no price feed can check it. */
    acceptUnpriced: v.optional(v.boolean()),
  }),
  /** The allowance a swap needs first: `spender` may take `amount` of `token`. */
  v.object({ kind: v.literal("approve"), token: vSymbol, spender: v.string(), amount: v.string() }),
  /** Executes a signed payment, of the claim `claimKey`. Only the relayer's. */
  v.object({ kind: v.literal("settlement"), claimKey: v.string() }),
  /** Writes the head of the signal record to the chain. Only the anchor's. */
  v.object({ kind: v.literal("anchor"), sequence: v.number(), hash: v.string() }),
  /** Moves nothing: fills a nonce whose transaction is gone, so that later ones can be mined. */
  v.object({ kind: v.literal("fill") }),
);

export const vState = v.union(
  /** Requested; nothing is signed. */
  v.literal("prepared"),
  /** The signed bytes are stored; nobody outside has them yet. */
  v.literal("signed"),
  /** A node has it. */
  v.literal("broadcast"),
  /** It was sent and nobody knows whether it arrived. */
  v.literal("unknown"),
  v.literal("confirmed"),
  v.literal("failed"),
);

export const vSwapTerms = v.object({
  sellAmount: v.string(),
  buyAmount: v.string(),
  minBuyAmount: v.string(),
  /** Whether the quote was checked against the price feeds. */
  priceChecked: v.boolean(),
});

/** The sold and bought amounts of a swap, by its receipt. */
export const vTraded = v.object({ sellAmount: v.string(), buyAmount: v.string() });

/** Other bytes with the same nonce and higher fees: at most one of a transaction's bytes is ever mined. */
const replaced = {
  /** `withdrawal`: an empty transaction that replaces one that can no longer be mined. */
  kind: v.union(v.literal("repriced"), v.literal("withdrawal")),
  txHash: v.string(),
};
export const vReplacement = v.object({
  ...replaced,
  rawTransaction: v.string(),
  /** Earlier replacements, which may be mined as well. */
  outpriced: v.array(v.object(replaced)),
});

/** Further terms of everything that is signed for an order. */
const permissionFields = {
  walletId: v.string(),
  /** The wallet's user, "" for a service account. */
  userId: v.string(),
  /** The credential of the caller who asked for it. */
  by: v.union(vCredential, v.literal("approval"), v.literal("chat"), v.literal("repair")),
  request: vRequest,
  /** For a swap that its owner has seen: the least that it may bring. Digits. */
  minBuyAmount: v.optional(v.string()),
  /** The most that the network may take for one of its transactions, in wei. */
  mostFee: v.string(),
  /** The version of the owner's rules that allowed it (`users/levels`). */
  policyVersion: v.number(),
  /** Epoch ms after which nothing is signed for the first time. */
  until: v.number(),
};

/** A permission as queries return it. */
export const vPermission = v.object({
  ...permissionFields,
  _id: v.id("permissions"),
  _creationTime: v.number(),
});

export type TransactionRequest = Infer<typeof vRequest>;
export type TransactionState = Infer<typeof vState>;
export type SwapTerms = Infer<typeof vSwapTerms>;

/** What was counted against limits, in micro-USD: when (epoch ms), and against which; on rows of 0.1.0, on which UTC day. */
const vReserved = v.union(
  v.object({
    at: v.number(),
    microUsd: v.string(),
    /** A share has a sum of its own if it counts less than the whole value: only a part of a swap can be lost. */
    shares: v.array(v.object({ measure: vMeasure, address: v.string(), microUsd: v.optional(v.string()) })),
  }),
  v.object({ day: v.string(), microUsd: v.string() }),
);

const transactionFields = {
  walletId: v.string(),
  userId: v.string(),
  address: v.string(),
  request: vRequest,
  /** The permission that it is signed under; absent for a service account, and on rows of earlier versions. */
  permissionId: v.optional(v.id("permissions")),
  /** An approval's swap. */
  parentId: v.optional(v.id("transactions")),
  idempotencyKey: v.optional(v.string()),
  state: vState,
  reserved: v.optional(vReserved),
  nonce: v.optional(v.number()),
  /** When the signed bytes were stored, right before they are sent; from then on only the chain decides. */
  handedOutAt: v.optional(v.number()),
  /** Since when the chain's answers look as if another transaction had its nonce, and how many in a row. */
  replacedSince: v.optional(v.number()),
  replacedAnswers: v.optional(v.number()),
  /** The bytes as they were first signed, and their hash, by which its user knows it. */
  rawTransaction: v.optional(v.string()),
  txHash: v.optional(v.string()),
  replacement: v.optional(vReplacement),
  /** The hash under which it was mined, if that is a replacement's. */
  minedAs: v.optional(v.string()),
  terms: v.optional(vSwapTerms),
  traded: v.optional(vTraded),
  /** When its receipt showed that a swap has bought less than its call guaranteed: for the operator. */
  shortAt: v.optional(v.number()),
  /** A swap's approval. */
  approvalTxHash: v.optional(v.string()),
  /** Why it failed, and the error code for its caller. */
  error: v.optional(v.string()),
  errorCode: v.optional(v.string()),
  createdAt: v.number(),
  endedAt: v.optional(v.number()),
  /** When the follow-up checks it next, twice after its end as well; then `NEVER`. */
  nextCheckAt: v.number(),
  checks: v.number(),
};

/** A transaction as queries return it. */
export const vTransaction = v.object({
  ...transactionFields,
  _id: v.id("transactions"),
  _creationTime: v.number(),
});

export const transactionTables = {
  /** Every transaction of every account, from the request to its end. Written by `wallets/transactions`. Kept. */
  transactions: defineTable(transactionFields)
    .index("by_walletId_and_state", ["walletId", "state"])
    .index("by_walletId_and_nonce", ["walletId", "nonce"])
    .index("by_userId_and_idempotencyKey", ["userId", "idempotencyKey"])
    .index("by_userId_and_txHash", ["userId", "txHash"])
    .index("by_nextCheckAt", ["nextCheckAt"])
    .index("by_shortAt", ["shortAt"]),

  /**
   * What may be signed for a wallet: one row for each order, or for a free nonce. Written by
   * `wallets/transactions/permissions`, in the transaction that reserves; no key opens without one. Kept.
   */
  permissions: defineTable(permissionFields).index("by_userId", ["userId"]),
};

export const transactionRecords: RecordsOf<typeof transactionTables> = {
  transactions: {
    keep: "what was signed and sent",
    ownedBy: { rows: ofUser("by_userId_and_txHash"), section: "transactions", onDeletion: "stay" },
    final: { field: "state", states: ["confirmed", "failed"] },
    openWhen: { transactions: due("nextCheckAt") },
    withheld: ["rawTransaction"],
  },
  permissions: {
    keep: "why something was signed",
    ownedBy: { rows: ofUser("by_userId"), section: "permissions", onDeletion: "stay" },
  },
};
