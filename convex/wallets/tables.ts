import { defineTable } from "convex/server";
import { v, type Infer } from "convex/values";
import { literals } from "../lib/literals";
import { indexOfUser, type RecordsOf } from "../platform/records";
import { vPriceSource } from "../market/tables";
import { SYMBOLS } from "./tokens";

export const vWalletKind = literals("basic", "custody");

export const vSymbol = literals(...SYMBOLS);

/** A token balance of an address, and its value. */
export const vHolding = v.object({
  token: vSymbol,
  /** Exact decimal. */
  balance: v.string(),
  /** The balance in the smallest unit. */
  raw: v.string(),
  decimals: v.number(),
  priceUsd: v.union(v.number(), v.null()),
  priceSource: v.union(vPriceSource, v.null()),
  valueUsd: v.union(v.number(), v.null()),
  /** Its average cost and that of a whole token, absent before its first move, and its worth less its cost. */
  costUsd: v.optional(v.number()),
  averageUsd: v.optional(v.union(v.number(), v.null())),
  unrealisedUsd: v.optional(v.union(v.number(), v.null())),
});

/** The amount as it was said, in its one spelling (`wallets/tokens`); the exact one was resolved once. */
const vSize = v.optional(v.string());
const vSend = v.object({
  kind: v.literal("send"),
  token: vSymbol,
  toAddress: v.string(),
  amount: v.string(),
  size: vSize,
});
/** A swap; `amount` is "0" before a size was resolved. */
export const vSwap = v.object({
  kind: v.literal("swap"),
  fromToken: vSymbol,
  toToken: vSymbol,
  amount: v.string(),
  size: vSize,
  slippageBps: v.number(),
  /** The caller accepts the quote unchecked if no price feed covers it. */
  acceptUnpriced: v.optional(v.boolean()),
});
/** Ether for network fees, which the relayer gives for USDC in one transaction. */
const vGas = v.object({
  kind: v.literal("gas"),
  /** The paid USDC and the ether, in their smallest units; what the exchange costs, in micro-USD. */
  amount: v.string(),
  ether: v.string(),
  cost: v.string(),
  /** The asked USDC in its smallest unit, or `enough`. */
  size: vSize,
  /** The order that waits for it. */
  next: v.optional(v.string()),
});
/** A user's request. Amounts are digits in the token's smallest unit. */
export const vUserRequest = v.union(vSend, vSwap, vGas);
export type UserRequest = Infer<typeof vUserRequest>;
const vOrderRequest = v.union(
  ...vUserRequest.members,
  /** Executes the signed payment of the claim `claimKey`. Only the relayer's. */
  v.object({ kind: v.literal("settlement"), claimKey: v.string(), to: v.string(), data: v.string() }),
  /** The relayer's half of a gas order: both halves by Multicall3, or the ether alone. */
  v.object({ kind: v.literal("refuel"), to: v.string(), data: v.string(), value: v.string() }),
  /** Writes the head of the signal record to the chain. Only the anchor's. */
  v.object({ kind: v.literal("anchor"), sequence: v.number(), hash: v.string(), data: v.string() }),
  /** An unreadable mention: kept, never executed. */
  v.object({ kind: v.literal("unknown") }),
);
export type OrderRequest = Infer<typeof vOrderRequest>;
/** The request of a service account. */
export type ServiceRequest = Extract<OrderRequest, { kind: "settlement" | "refuel" | "anchor" }>;
export type GasRequest = Extract<OrderRequest, { kind: "gas" }>;

const vAction = literals("buy", "sell", "swap", "send", "gas", "unknown");
const vState = literals("asked", "prepared", "signed", "confirmed", "failed");
/** The credential of an order. `tap`: approved by the owner in their chat; `free`: an id without an owner. */
const vBy = literals("free", "owner", "key", "id", "tap", "chat", "post", "service");
export type By = Infer<typeof vBy>;

/**
 * Bytes signed at a nonce; at most one transaction of a nonce is ever mined. `empty`: a transaction to the sender
 * itself.
 */
export const vSignedTry = v.object({
  nonce: v.number(),
  kind: literals("approve", "call", "empty"),
  raw: v.string(),
  hash: v.string(),
  at: v.number(),
  /** Once mined: its block, and the network fee that it paid, in wei; absent if the node does not tell it. */
  block: v.optional(v.number()),
  paid: v.optional(v.string()),
});
export type SignedTry = Infer<typeof vSignedTry>;

/** A swap's quote, and the minimum that its call guarantees. Digits. */
export const vSwapTerms = v.object({
  buyAmount: v.string(),
  minBuyAmount: v.string(),
  /** Whether the quote was checked against the price feeds. */
  priceChecked: v.boolean(),
});

const orderFields = {
  /** "" for an unreadable mention. */
  walletId: v.string(),
  /** Carried out in the book of its wallet, by an account on paper: nothing of it is ever signed. */
  paper: v.optional(v.literal(true)),
  /** The wallet's user, "" for a service account. */
  userId: v.string(),
  address: v.string(),
  request: vOrderRequest,
  state: vState,

  /** A user's order as a trade. */
  action: v.optional(vAction),
  source: v.optional(literals("web", "x", "telegram")),
  /**
   * The social mention that ordered it, and the handle of the mutation to call with its id when the order has ended.
   */
  mentionId: v.optional(v.id("mentions")),
  onSettled: v.optional(v.string()),
  /** The standing order that it carries out, which tells its outcome. */
  standingId: v.optional(v.id("alerts")),

  by: vBy,
  /** The ordering API key. */
  keyId: v.optional(v.id("keys")),
  /** Endpoint, credential and the caller's idempotency key: a repeat finds its order by it. */
  idempotencyKey: v.optional(v.string()),
  /** The linked account that decides, and whether the caller asked by the id alone. */
  question: v.optional(v.object({ messengerId: v.string(), byId: v.boolean() })),
  /** The version of the owner's rules under which it may be signed. */
  rules: v.number(),
  /** The highest network fee of a single transaction, in wei. */
  mostFee: v.string(),
  /** For a swap with an approved estimate: the lowest acceptable bought amount. Digits. */
  minBuyAmount: v.optional(v.string()),

  /** Value of the sent or sold amount, in micro-USD; absent without a live price. */
  value: v.optional(v.string()),
  /**
   * The amount that counts against caps unless the order has failed, in micro-USD, and since when. Fees count once
   * signed.
   */
  countedAmount: v.string(),
  countedAt: v.optional(v.number()),
  /** The hashed network address whose cap counts it as well. */
  countedFor: v.optional(v.string()),
  /** Whether the chat's own cap counts it: a send to a recipient off the list, or a swap that may lose. */
  countsAgainstChatCap: v.optional(v.boolean()),
  feeCounted: v.string(),
  /** Price of one ether, in micro-USD. */
  etherPrice: v.string(),

  /** The newest bytes' nonce, and all bytes ever signed for the order. */
  nonce: v.optional(v.number()),
  tries: v.array(vSignedTry),
  /** The mined transaction's hash; until then the newest one. */
  txHash: v.optional(v.string()),
  /** The hash of a swap's approval, which is signed before the swap. */
  approvalTxHash: v.optional(v.string()),
  /**
   * Of a signed gas order: the end (epoch seconds) of its USDC authorization, and the relayer's orders for it: the
   * exchange, and the ether alone if somebody else has used the authorization.
   */
  exchange: v.optional(
    v.object({
      validBefore: v.number(),
      serviceId: v.id("orders"),
      fallbackId: v.optional(v.id("orders")),
    }),
  ),
  /** Time of the first read of a nonce conflict. */
  nonceConflictSince: v.optional(v.number()),
  terms: v.optional(vSwapTerms),
  /** The bought amount of a mined swap, from its receipt; on paper, what the book got. Digits. */
  bought: v.optional(v.string()),
  /** On paper: the network fee that the book has paid, in wei. */
  paperFee: v.optional(v.string()),
  /** The reason of failure or of a deficient result, and the error code for the caller. */
  error: v.optional(v.string()),
  errorCode: v.optional(v.string()),

  endedAt: v.optional(v.number()),
  /** The next check by the cron; for asked and prepared orders, the deadline. */
  nextCheckAt: v.number(),
};

/** An order as queries return it. */
export const vOrderRow = v.object({ ...orderFields, _id: v.id("orders"), _creationTime: v.number() });

const vLeg = v.object({
  token: vSymbol,
  raw: v.string(),
  /** Its worth when it moved, in micro-USD; absent without a live price. */
  value: v.optional(v.string()),
});

/** A change of a wallet's balances: by an order of its own, or from outside. Amounts and sums are digits. */
const vMove = v.object({
  walletId: v.string(),
  userId: v.string(),
  /** Its place among the wallet's moves, from 1. */
  n: v.number(),
  at: v.number(),
  kind: literals("swap", "send", "received", "taken", "fee"),
  out: v.optional(vLeg),
  in: v.optional(vLeg),
  /** The network fees of the order, in ether. */
  fee: v.optional(vLeg),
  /** What it added to what was paid in less what was taken out, in micro-USD. */
  flow: v.string(),
  /** Of a swap: its result; of a send: the cost of the sent amount. In micro-USD. */
  realised: v.optional(v.string()),
  cost: v.optional(v.string()),
  orderId: v.optional(v.id("orders")),
});
export type StoredMove = Infer<typeof vMove>;

/** A move with the recipient, the credential (`others`: none of this service's) and the transaction of its order. */
export const vNamedMove = vMove.omit("walletId", "userId").extend({
  to: v.optional(v.string()),
  by: v.string(),
  txHash: v.optional(v.string()),
});
export type NamedMove = Infer<typeof vNamedMove>;

/** What a wallet's moves have come to (`wallets/result`), in digits: `held` by token, `cost` and `unpriced` by feed. */
export const vPast = v.object({
  /** The times of the first and the newest move, the block of the look that found it, and how many there are. */
  since: v.number(),
  at: v.number(),
  block: v.number(),
  count: v.number(),
  held: v.record(v.string(), v.string()),
  cost: v.record(v.string(), v.string()),
  unpriced: v.record(v.string(), v.string()),
  /** `paidIn`, `takenOut`, `realised`, `fees`. */
  sums: v.record(v.string(), v.string()),
});
export type Past = Infer<typeof vPast>;

/** Digits in the smallest unit by token; a missing one is zero. */
export const vBalances = v.record(v.string(), v.string());
export type Balances = Infer<typeof vBalances>;

/** A wallet's holdings on paper, as a past of its own: it begins with the start, and paper orders are its moves. */
const vBook = v.object({
  /** By it its moves are found, as a wallet's by its own. */
  id: v.string(),
  since: v.number(),
  past: vPast,
  /** The idempotency key of the request that began it. */
  key: v.optional(v.string()),
});
export type Book = Infer<typeof vBook>;

/** A user's wallet for actions. `book`: its holdings on paper, present only while its account is on paper. */
export const vPayer = v.object({
  walletId: v.string(),
  address: v.string(),
  book: v.optional(vBook.pick("id", "past")),
});
export type Payer = Infer<typeof vPayer>;

export const walletTables = {
  /**
   * Every account that the service signs for: one per user and kind, and one per key of the payment relayer and of the
   * anchor, which belong to no user. Written by `wallets/custody`, `wallets/service`, `wallets/orders`,
   * `wallets/past` and `wallets/book`. Kept.
   */
  wallets: defineTable({
    /** The custody provider's handle of the key. */
    walletId: v.string(),
    userId: v.string(),
    kind: literals("basic", "custody", "relayer", "anchor"),
    /** Checksummed. */
    address: v.string(),
    /** The nonce of the next transaction, once one was signed. */
    nextNonce: v.optional(v.number()),
    /** Of a custody wallet on paper, once something was done there: until then it is the deployment's start. */
    book: v.optional(vBook),
    /** Of the relayer: since when it has too little ether to give (epoch ms). */
    lowSince: v.optional(v.number()),
    /** Its moves until now; absent before the first one. */
    past: v.optional(vPast),
    /** The next daily read, and the end of daily reads, a month after the last request (epoch ms). */
    lookAt: v.optional(v.number()),
    lookUntil: v.optional(v.number()),
  })
    .index("by_userId_and_kind", ["userId", "kind"])
    .index("by_walletId", ["walletId"])
    .index("by_address", ["address"])
    .index("by_lookAt", ["lookAt"]),

  /**
   * Every order of an account, from the question to the receipt, as one row. Written by `wallets/orders`, those of
   * service accounts opened by `wallets/service`. Kept.
   */
  orders: defineTable(orderFields)
    .index("by_walletId_and_state", ["walletId", "state"])
    .index("by_walletId_and_nonce", ["walletId", "nonce"])
    .index("by_userId_and_asked", ["userId", "paper", "question.byId"])
    .index("by_userId_and_idempotencyKey", ["userId", "idempotencyKey"])
    .index("by_userId_and_countedAt", ["userId", "paper", "countedAt"])
    .index("by_countedFor", ["countedFor", "countedAt"])
    .index("by_userId_and_txHash", ["userId", "txHash"])
    .index("by_nextCheckAt", ["nextCheckAt"]),

  /** Everything that has changed the balances of users' wallets and books. Written by `wallets/result`. Kept. */
  moves: defineTable(vMove)
    .index("by_walletId_and_n", ["walletId", "n"])
    .index("by_walletId_and_orderId", ["walletId", "orderId"])
    .index("by_userId", ["userId"]),
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
  moves: {
    keep: "what the wallet's result is a function of",
    ownedBy: { rows: indexOfUser("by_userId"), section: "moves", onDeletion: "stay" },
  },
};
