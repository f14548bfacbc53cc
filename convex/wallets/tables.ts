import { defineTable } from "convex/server";
import { v, type Infer } from "convex/values";
import { literals } from "../lib/literals";
import { indexOfUser, type RecordsOf } from "../platform/records";
import { vPriceSource } from "../market/tables";
import { SYMBOLS } from "./tokens";

export const vWalletKind = literals("basic", "custody");

export const vSymbol = literals(...SYMBOLS);

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

const vSend = v.object({
  kind: v.literal("send"),
  token: vSymbol,
  toAddress: v.string(),
  amount: v.string(),
});
const vSwap = v.object({
  kind: v.literal("swap"),
  fromToken: vSymbol,
  toToken: vSymbol,
  amount: v.string(),
  slippageBps: v.number(),
  /** The caller accepts the quote on the provider's word alone if no price feed can check it. */
  acceptUnpriced: v.optional(v.boolean()),
});
/** What a user orders. Amounts are digits in the token's smallest unit. */
export const vUserRequest = v.union(vSend, vSwap);
export type UserRequest = Infer<typeof vUserRequest>;
const vOrderRequest = v.union(
  vSend,
  vSwap,
  /** Executes a signed payment, of the claim `claimKey`. Only the relayer's. */
  v.object({ kind: v.literal("settlement"), claimKey: v.string(), to: v.string(), data: v.string() }),
  /** Writes the head of the signal record to the chain. Only the anchor's. */
  v.object({ kind: v.literal("anchor"), sequence: v.number(), hash: v.string(), data: v.string() }),
  /** A mention that nobody could read: kept, never executed. */
  v.object({ kind: v.literal("unknown") }),
);
export type OrderRequest = Infer<typeof vOrderRequest>;
/** What an account of the service's own does. */
export type ServiceRequest = Extract<OrderRequest, { kind: "settlement" | "anchor" }>;

const vAction = literals("buy", "sell", "swap", "send", "unknown");
const vState = literals("asked", "prepared", "signed", "confirmed", "failed");
/** On whose word an order stands. `tap`: approved by the owner in their chat; `free`: of an id without an owner. */
const vBy = literals("free", "owner", "key", "id", "tap", "chat", "post", "service");
export type By = Infer<typeof vBy>;

/** Bytes that were signed at a nonce; at most one of a nonce's is ever mined. `empty`: a transaction to itself. */
export const vSignedTry = v.object({
  nonce: v.number(),
  kind: literals("approve", "call", "empty"),
  raw: v.string(),
  hash: v.string(),
  at: v.number(),
});
export type SignedTry = Infer<typeof vSignedTry>;

/** A swap's quote, and the least that its call guarantees. Digits. */
export const vSwapTerms = v.object({
  buyAmount: v.string(),
  minBuyAmount: v.string(),
  /** Whether the quote was checked against the price feeds. */
  priceChecked: v.boolean(),
});

/** What a rehearsal has found, for the owner's card; the order is bound to the first two once it was shown. */
export const vEstimate = v.object({
  /** The least that a swap may bring. Digits. */
  minBuyAmount: v.optional(v.string()),
  /** The most that one of its transactions may cost, and all of them together; in wei. */
  mostFee: v.string(),
  feesInAll: v.string(),
  /** For a swap: how much less than the sold amount its minimum is worth by the feeds. */
  costBps: v.union(v.number(), v.null()),
});
export type Estimate = Infer<typeof vEstimate>;

/** A user's order as actions hand it to the transactions. */
export const vPlacing = {
  userId: v.string(),
  walletId: v.string(),
  request: vUserRequest,
  idempotencyKey: v.optional(v.string()),
  /** Of the sent or sold amount, in micro-USD; absent without a live price. And of one ether. */
  value: v.optional(v.string()),
  etherPrice: v.string(),
};

const orderFields = {
  /** "" for a mention that nobody could read. */
  walletId: v.string(),
  /** The wallet's user, "" for a service account. */
  userId: v.string(),
  address: v.string(),
  request: vOrderRequest,
  state: vState,

  /** A user's order as a trade. */
  action: v.optional(vAction),
  source: v.optional(literals("web", "x", "telegram")),
  /** The social mention that ordered it, and the handle of the mutation to call with its id when the order has ended. */
  mentionId: v.optional(v.id("mentions")),
  onSettled: v.optional(v.string()),

  by: vBy,
  /** The key that ordered it. */
  keyId: v.optional(v.id("keys")),
  /** Endpoint, credential and the caller's key: a repeat finds its order by it. */
  idempotencyKey: v.optional(v.string()),
  /** The linked account that decides, and whether somebody asked by the id alone. */
  question: v.optional(v.object({ messengerId: v.string(), byId: v.boolean() })),
  /** The version of the owner's rules under which it may be signed. */
  rules: v.number(),
  /** The most that the network may take for one of its transactions, in wei. */
  mostFee: v.string(),
  /** For a swap that its owner has seen: the least that it may bring. Digits. */
  minBuyAmount: v.optional(v.string()),

  /** Of the sent or sold amount, in micro-USD; absent without a live price. */
  value: v.optional(v.string()),
  /** What it counts against caps while it is not failed, in micro-USD, and since when; its fees count as they are signed. */
  counted: v.string(),
  countedAt: v.optional(v.number()),
  /** The network address that it counts against as well, hashed. */
  countedFor: v.optional(v.string()),
  /** Whether it moves to a recipient off the owner's list, or may lose in a swap: what a chat's own cap counts. */
  isLoose: v.optional(v.boolean()),
  feeCounted: v.string(),
  /** Of one ether, in micro-USD. */
  etherPrice: v.string(),

  /** The newest bytes' nonce, and all bytes that were ever signed for it. */
  nonce: v.optional(v.number()),
  tries: v.array(vSignedTry),
  /** The hash that was mined; until then the newest one. */
  txHash: v.optional(v.string()),
  /** Of a swap's approval, which is signed before it. */
  approvalTxHash: v.optional(v.string()),
  /** Since when the chain's answers look as if something else had used its nonce. */
  usedSince: v.optional(v.number()),
  terms: v.optional(vSwapTerms),
  /** What a mined swap has bought, by its receipt. Digits. */
  bought: v.optional(v.string()),
  /** Why it failed, or what is wrong with its result; and the error code for its caller. */
  error: v.optional(v.string()),
  errorCode: v.optional(v.string()),

  endedAt: v.optional(v.number()),
  /** When the cron looks at it next: what is asked is answered before, and what is prepared is signed. */
  nextCheckAt: v.number(),
};

/** An order as queries return it. */
export const vOrderRow = v.object({ ...orderFields, _id: v.id("orders"), _creationTime: v.number() });

export const walletTables = {
  /**
   * Every account that the service signs for: one per user and kind, and one per key of the payment relayer and of the
   * anchor, which belong to nobody. Written by `wallets/custody` and `wallets/orders`. Kept.
   */
  wallets: defineTable({
    /** The custody module's handle, by which it finds the key. */
    walletId: v.string(),
    userId: v.string(),
    kind: literals("basic", "custody", "relayer", "anchor"),
    /** Checksummed. */
    address: v.string(),
    /** The nonce of the next transaction, once one was signed. */
    nextNonce: v.optional(v.number()),
  })
    .index("by_userId_and_kind", ["userId", "kind"])
    .index("by_walletId", ["walletId"])
    .index("by_address", ["address"]),

  /** Everything that was ordered of an account, from the question to the receipt: one row. Written by `wallets/orders`. Kept. */
  orders: defineTable(orderFields)
    .index("by_walletId_and_state", ["walletId", "state"])
    .index("by_walletId_and_nonce", ["walletId", "nonce"])
    .index("by_userId_and_asked", ["userId", "question.byId"])
    .index("by_userId_and_idempotencyKey", ["userId", "idempotencyKey"])
    .index("by_userId_and_countedAt", ["userId", "countedAt"])
    .index("by_countedFor", ["countedFor", "countedAt"])
    .index("by_userId_and_txHash", ["userId", "txHash"])
    .index("by_nextCheckAt", ["nextCheckAt"]),
};

export const walletRecords: RecordsOf<typeof walletTables> = {
  wallets: {
    keep: "they hold money, and the relayer's its next nonce",
    ownedBy: { rows: indexOfUser("by_userId_and_kind"), section: "wallets", onDeletion: "stay" },
  },
  orders: {
    keep: "the user's trades: what was signed and sent, and why",
    ownedBy: { rows: indexOfUser("by_userId_and_txHash"), section: "trades", onDeletion: "stay" },
    withheld: ["tries", "onSettled"],
  },
};
