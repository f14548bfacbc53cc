import { defineTable } from "convex/server";
import { v, type Infer } from "convex/values";
import { literals } from "../lib/literals";
import { indexOfUser, type RecordsOf } from "../platform/records";
import { vResearchResult } from "../research/tables";
import { vRefusal } from "./terms";

export const vUsdcTransfer = v.object({
  /** Lower case. */
  txHash: v.string(),
  /**
   * Its index among the transaction's transfers of USDC to the platform wallet, from 0. Unlike a log's index in the
   * block, it stays the same when a reorganisation moves the transaction into another block.
   */
  position: v.number(),
  /** Lower case. */
  from: v.string(),
  /** Digits, USDC's smallest unit. */
  amount: v.string(),
});
export type UsdcTransfer = Infer<typeof vUsdcTransfer>;

/** A transfer read from a block. */
export const vRead = v.object({
  ...vUsdcTransfer.fields,
  /** Index of its log in the block, for indexers. */
  logIndex: v.number(),
});

/** The start of a reading of deposits: after the last stored block; `null` before the first reading. */
export const vDepositReading = v.object({
  wallet: v.string(),
  cursor: v.union(v.object({ start: v.number(), block: v.number() }), v.null()),
  /** Whether the newest blocks are read again. */
  again: v.boolean(),
});
export type DepositReading = Infer<typeof vDepositReading>;

/** An EIP-3009 authorization: anyone may move `value` from the signing USDC holder to `to`, once per nonce. */
export const vPaymentAuthorization = v.object({
  /** Addresses and the nonce in lower case. */
  from: v.string(),
  to: v.string(),
  /** Digits, USDC's smallest unit. */
  value: v.string(),
  /** Digits, epoch seconds. */
  validAfter: v.string(),
  validBefore: v.string(),
  nonce: v.string(),
  signature: v.string(),
});
export type PaymentAuthorization = Infer<typeof vPaymentAuthorization>;

export const vPaymentProof = v.union(
  /** A transaction that has paid; `signature`: its payer's, of `proofs.buildProofText`. */
  v.object({ kind: v.literal("hash"), txHash: v.string(), signature: v.optional(v.string()) }),
  /** A payment for the service to execute. */
  v.object({ kind: v.literal("authorization"), authorization: vPaymentAuthorization }),
);
export type PaymentProof = Infer<typeof vPaymentProof>;
export type HashProof = Extract<PaymentProof, { kind: "hash" }>;

/** The order of a report. */
export const vReportOrder = v.object({
  userId: v.optional(v.string()),
  /** A token's symbol, "" for the whole market. */
  focus: v.string(),
});
export type ReportOrder = Infer<typeof vReportOrder>;

/** Why the latest attempt failed: a code of `lib/errors`, and the message for its callers. */
const vTrouble = v.object({ code: literals("upstream", "internal"), message: v.string() });

export const paymentTables = {
  /**
   * Transfers to the platform wallet, one row each, with the report and the credits they bought. Written by
   * `payments/deposits` alone. Kept for ever: a deleted row would open its transfer to replay.
   */
  transfers: defineTable({
    ...vUsdcTransfer.fields,
    /** The claim that took the price of a report from it. */
    claimKey: v.optional(v.string()),
    /**
     * Absent until the transfer was read from a confirmed block; the amount above a report's price is then a deposit.
     * `unmatched`: its sender has no user yet, or may be paying for a report. `ignored`: less than a credit is left.
     */
    state: v.optional(literals("unmatched", "credited", "ignored")),
    logIndex: v.optional(v.number()),
    /** The credited user; removed with their data, because the ledger has it, too. */
    userId: v.optional(v.string()),
    credits: v.optional(v.number()),
  })
    .index("by_txHash_and_position", ["txHash", "position"])
    .index("by_from_and_state", ["from", "state"])
    .index("by_userId", ["userId"]),

  /** How far the chain was read, a row per platform wallet that was ever configured. Written by `payments/deposits`. */
  depositCursors: defineTable({
    /** Lower case. */
    wallet: v.string(),
    /** Transfers up to this block are not read. */
    start: v.number(),
    /** Transfers up to this block are stored. */
    block: v.number(),
    /** When the newest blocks were last read again completely. */
    rereadAt: v.number(),
  }).index("by_wallet", ["wallet"]),

  /**
   * Claims, one row per payment for a report (`states.md`). Written by `payments/claims` and `payments/progress`. Kept for
   * ever: a deleted claim would open its payment to replay.
   */
  paymentClaims: defineTable({
    /** `auth:<payer>:<nonce>` for a signed payment, `log:<hash>:<position>` for a transfer on the chain. */
    key: v.string(),
    order: vReportOrder,
    /** Hash of the proof's signature and the order (`proofs.hashPresented`): a repeat has the same. */
    presentedHash: v.string(),
    /**
     * `settling`: the signed payment is being executed. `paid`: the report is being written, or waits for the next request
     * of its payer. `refused`: the signed payment moved nothing. `joined`: not executed, because an earlier payment for the
     * same order is being settled, or is owed its report.
     */
    state: literals("settling", "paid", "delivered", "refused", "joined"),
    /** The claim of the earlier payment. */
    joins: v.optional(v.id("paymentClaims")),
    /** The latest failure; removed by the next attempt. */
    trouble: v.optional(vTrouble),
    /** Why a signed payment was refused. */
    refusal: v.optional(vRefusal),
    /** Lower case. */
    payer: v.string(),
    authorization: v.optional(vPaymentAuthorization),
    /** The relayer's transaction that executes it. */
    settlementId: v.optional(v.id("orders")),
    /** Whether a facilitator was asked to execute it. It may have done so, whatever it answered. */
    handedOver: v.optional(v.boolean()),
    /** The transaction that paid. */
    txHash: v.optional(v.string()),
    createdAt: v.number(),
    report: v.optional(v.object({ result: vResearchResult, model: v.string(), generatedAt: v.number() })),
    /** Time of the first delivery: until then the report is owed. */
    answeredAt: v.optional(v.number()),
  })
    .index("by_key", ["key"])
    .index("by_txHash", ["txHash"])
    .index("by_state", ["state"])
    .index("by_payer_and_state", ["payer", "state"])
    .index("by_userId", ["order.userId"]),
};

/** A claim as queries return it. */
export const vClaimRow = paymentTables.paymentClaims.validator.extend({
  _id: v.id("paymentClaims"),
  _creationTime: v.number(),
});

export const paymentRecords: RecordsOf<typeof paymentTables> = {
  depositCursors: { keep: "one row for each platform wallet" },
  transfers: {
    keep: "a deleted row would open its transfer to replay",
    ownedBy: {
      rows: indexOfUser("by_userId"),
      section: "deposits",
      // The ledger has the credited user.
      onDeletion: { anonymise: (db, { _id }) => db.patch("transfers", _id, { userId: undefined }) },
    },
  },
  paymentClaims: {
    keep: "a deleted claim would open its payment to replay",
    ownedBy: {
      rows: (rows, userId) => rows.withIndex("by_userId", (q) => q.eq("order.userId", userId)),
      section: "payments",
      // A payment without its row could be used again. A repeat still finds its claim by the hash.
      onDeletion: {
        anonymise: (db, { _id, order: { focus } }) => db.patch("paymentClaims", _id, { order: { focus } }),
      },
    },
    withheld: ["authorization"],
  },
};
