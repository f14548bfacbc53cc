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

/** A transfer as blocks show it. */
export const vRead = v.object({
  ...vUsdcTransfer.fields,
  /** Its log's index in the block, which indexers name. */
  logIndex: v.number(),
});

/** Where a reading of deposits goes on: behind the last block that is stored; `null` before the first reading. */
export const vDepositReading = v.object({
  wallet: v.string(),
  cursor: v.union(v.object({ start: v.number(), block: v.number() }), v.null()),
  /** Whether it reads the newest blocks again. */
  again: v.boolean(),
});
export type DepositReading = Infer<typeof vDepositReading>;

/** An EIP-3009 authorization: a USDC holder lets anybody move `value` to `to`, once per nonce. */
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
  /** A transaction that has paid; `signature` is its payer's, of the proof's text. */
  v.object({ kind: v.literal("hash"), txHash: v.string(), signature: v.optional(v.string()) }),
  /** A payment that the service has executed. */
  v.object({ kind: v.literal("authorization"), authorization: vPaymentAuthorization }),
);
export type PaymentProof = Infer<typeof vPaymentProof>;
export type HashProof = Extract<PaymentProof, { kind: "hash" }>;

/** The order: what is bought, and by whom. */
export const vReportOrder = v.object({
  userId: v.optional(v.string()),
  /** A token's symbol, "" for the whole market. */
  focus: v.string(),
});
export type ReportOrder = Infer<typeof vReportOrder>;

/** Why the latest attempt failed: a code of `lib/errors`, and what its callers are told. */
export const vTrouble = v.object({ code: literals("upstream", "internal"), message: v.string() });

export const paymentTables = {
  /**
   * Transfers to the platform wallet, one row each: what it bought, and what was credited. Written by `payments/deposits`
   * alone. Kept for ever: a row that died would open its transfer to replay.
   */
  transfers: defineTable({
    ...vUsdcTransfer.fields,
    /** The claim that took the price of one report out of it. */
    claimKey: v.optional(v.string()),
    /**
     * Absent until it was read from a confirmed block; then what is beyond the report's price is a deposit. `unmatched`:
     * its sender has no user yet, or may be paying a report. `ignored`: nothing is left that is worth a credit.
     */
    state: v.optional(literals("unmatched", "credited", "ignored")),
    logIndex: v.optional(v.number()),
    /** The user it was credited to; removed when they delete their data, because the ledger has it too. */
    userId: v.optional(v.string()),
    credits: v.optional(v.number()),
  })
    .index("by_txHash_and_position", ["txHash", "position"])
    .index("by_from_and_state", ["from", "state"])
    .index("by_userId", ["userId"]),

  /** How far the chain has been read: a row for each platform wallet that was ever configured. Written by `payments/deposits`. */
  depositCursors: defineTable({
    /** Lower case. */
    wallet: v.string(),
    /** Up to this block, transfers were not read. */
    start: v.number(),
    /** Up to this block, they are stored. */
    block: v.number(),
    /** When the newest blocks were read again last, all of them. */
    rereadAt: v.number(),
  }).index("by_wallet", ["wallet"]),

  /**
   * Payments for a report, one row each: who redeemed it for what, and its progress. Written by `payments/claims`,
   * `payments/progress` and `payments/model`.
   * Kept for ever: a claim that died would open its payment to replay.
   */
  paymentClaims: defineTable({
    /** `auth:<payer>:<nonce>` for a signed payment, `log:<hash>:<position>` for a transfer on the chain. */
    key: v.string(),
    order: vReportOrder,
    /** The hash of the proof's signature and of the order as it was sent (`proofs.hashPresented`): a repeat shows the same. */
    shown: v.string(),
    /**
     * `settling`: a signed payment is being executed. `paid`: its report is being written, or waits for its payer to ask
     * again. `refused`: the signed payment could not be executed, and nothing was moved. `joined`: it is never executed,
     * because an earlier payment for the same order is on its way, or owed its report, and was not refused.
     */
    state: literals("settling", "paid", "delivered", "refused", "joined"),
    /** That payment's claim. */
    joins: v.optional(v.id("paymentClaims")),
    /** Until there is another attempt. */
    trouble: v.optional(vTrouble),
    /** Why a signed payment was refused. */
    refusal: v.optional(vRefusal),
    /** Lower case. */
    payer: v.string(),
    authorization: v.optional(vPaymentAuthorization),
    /** The relayer's transaction that executes it. */
    settlementId: v.optional(v.id("orders")),
    /** Whether a facilitator was asked to execute it: it may have done so whatever it answered. */
    handedOver: v.optional(v.boolean()),
    /** The transaction that paid. */
    txHash: v.optional(v.string()),
    createdAt: v.number(),
    report: v.optional(v.object({ result: vResearchResult, model: v.string(), generatedAt: v.number() })),
    /** When the report was given for the first time: until then it is owed. */
    answeredAt: v.optional(v.number()),
  })
    .index("by_key", ["key"])
    .index("by_txHash", ["txHash"])
    .index("by_state", ["state"])
    .index("by_payer_and_state", ["payer", "state"])
    .index("by_userId", ["order.userId"]),
};

export const paymentRecords: RecordsOf<typeof paymentTables> = {
  depositCursors: { keep: "one row for each platform wallet" },
  transfers: {
    keep: "a row that died would open its transfer to replay",
    ownedBy: {
      rows: indexOfUser("by_userId"),
      section: "deposits",
      // The ledger has the user it was credited to.
      onDeletion: { anonymise: (db, { _id }) => db.patch("transfers", _id, { userId: undefined }) },
    },
  },
  paymentClaims: {
    keep: "a claim that died would open its payment to replay",
    ownedBy: {
      rows: (rows, userId) => rows.withIndex("by_userId", (q) => q.eq("order.userId", userId)),
      section: "payments",
      // A payment without its row could be used again. The same proof and request still find their claim by its hash.
      onDeletion: {
        anonymise: (db, { _id, order: { focus } }) => db.patch("paymentClaims", _id, { order: { focus } }),
      },
    },
    withheld: ["authorization"],
  },
};
