import { defineTable } from "convex/server";
import { v, type Infer } from "convex/values";
import { literals } from "../../lib/literals";
import { vResult, vSourceStates } from "../../research/shapes";
import { older, waiting, type RecordsOf } from "../../lib/records/records";

export const vPaidReport = v.object({
  result: vResult,
  sources: vSourceStates,
});

/** An EIP-3009 authorization: a USDC holder lets anybody move `value` to `to`, once per nonce. */
export const vAuthorization = v.object({
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
export type Authorization = Infer<typeof vAuthorization>;

export const vProof = v.union(
  /** A transaction that has paid; `requestId` may open its hash lock, `signature` is its payer's. */
  v.object({
    kind: v.literal("hash"),
    txHash: v.string(),
    requestId: v.optional(v.string()),
    signature: v.optional(v.string()),
  }),
  /** A payment that the service executes itself. */
  v.object({
    kind: v.literal("authorization"),
    authorization: vAuthorization,
    /** The payer's own name for the purchase (x402's `payment-identifier`). */
    identifier: v.optional(v.string()),
  }),
);
export type Proof = Infer<typeof vProof>;

/** The order: what is bought, and by whom. */
export const vOrder = v.object({
  userId: v.optional(v.string()),
  /** A token's symbol, "" for the whole market. */
  focus: v.string(),
  /** Distinguishes orders: a proof redeems one order. */
  bodyHash: v.string(),
});

/**
 * How well a proof shows that its sender is the payer: 0 a hash that anybody can read from the chain, 1 paid from a
 * wallet of the named user, 2 signed by the payer or opened with the payer's secret.
 */
const vStrength = literals(0, 1, 2);

const vClaimState = v.union(
  /** A signed payment is being executed. */
  v.literal("settling"),
  /** Paid; nobody is writing the report. */
  v.literal("paid"),
  v.literal("generating"),
  v.literal("delivered"),
  /** The signed payment could not be executed: nothing was moved. */
  v.literal("refused"),
);

/** The codes of `lib/errors.ts` that a caller gets for a failure. */
export const vTroubleCode = literals("upstream", "internal", "not_configured");

export type Order = Infer<typeof vOrder>;
export type Strength = Infer<typeof vStrength>;

export const paidTables = {
  /**
   * Payments for a report, one row each: who redeemed it for what, and its progress. Written by `payments/reports`.
   * Kept for ever: a claim that died would open its payment to replay.
   */
  paymentClaims: defineTable({
    /** `auth:<payer>:<nonce>` for a signed payment, `log:<hash>:<position>` for a transfer on the chain. */
    key: v.string(),
    order: vOrder,
    /** The hash of a mined transfer's proof (`proofTexts.shownProof`); absent for a signed payment. */
    shown: v.optional(v.string()),
    strength: vStrength,
    /** Whether a stronger proof has taken this claim from a bare hash; that happens once. */
    overridden: v.boolean(),
    state: vClaimState,
    /** On rows of 0.1.0. */
    attempt: v.optional(v.number()),
    leaseUntil: v.optional(v.number()),
    /** Why the latest attempt failed, until there is another. */
    trouble: v.optional(
      v.object({ attempt: v.optional(v.number()), code: vTroubleCode, message: v.string() }),
    ),
    /** Why a signed payment was refused. */
    refusal: v.optional(v.object({ reason: v.string(), error: v.string() })),
    /** Lower case. */
    payer: v.string(),
    authorization: v.optional(vAuthorization),
    /** The payer's own name for the purchase: at most one unrefused claim of a payer has it. */
    identifier: v.optional(v.string()),
    /** The relayer's transaction that executes it: the latest one, if an earlier one was given up. */
    settlementId: v.optional(v.id("transactions")),
    /** Whether a facilitator was asked to execute it: it may have done so whatever it answered. */
    handedOver: v.optional(v.boolean()),
    /** Since when the authorization seems to be used by a transaction that cannot be found, or to have paid nothing. */
    unlocatedSince: v.optional(v.number()),
    /** The transaction that paid. */
    txHash: v.optional(v.string()),
    createdAt: v.number(),
    /** Kept as long as the same proof returns it. */
    report: v.optional(
      v.object({
        ...vPaidReport.fields,
        model: v.string(),
        generatedAt: v.number(),
      }),
    ),
    /** When the report is deleted; absent without one. */
    forgetAt: v.optional(v.number()),
  })
    .index("by_key", ["key"])
    .index("by_txHash", ["txHash"])
    .index("by_state", ["state"])
    .index("by_payer_and_state", ["payer", "state"])
    .index("by_payer_and_identifier", ["payer", "identifier"])
    .index("by_forgetAt", ["forgetAt"])
    .index("by_userId", ["order.userId"]),

  /**
   * Signed payments that were mined and have failed, at the relayer's cost. Written by `payments/reports/relayer`;
   * deleted after a week.
   */
  relayerFailures: defineTable({
    at: v.number(),
    txHash: v.string(),
    /** Lower case. */
    payer: v.string(),
    /** SHA-256 of the payer's code; absent for an account with a key. */
    codeHash: v.optional(v.string()),
  })
    .index("by_at", ["at"])
    .index("by_txHash", ["txHash"])
    .index("by_payer", ["payer", "at"])
    .index("by_codeHash", ["codeHash", "at"]),

  /** The offer that was signed last, in JSON: one row, replaced once a day by `payments/offers`. */
  paymentOffers: defineTable({ offer: v.string(), signature: v.string() }),
};

export const paidRecords: RecordsOf<typeof paidTables> = {
  paymentOffers: { keep: "one row" },
  paymentClaims: {
    keep: "a claim that died would open its payment to replay",
    ownedBy: {
      rows: (rows, userId) => rows.withIndex("by_userId", (q) => q.eq("order.userId", userId)),
      section: "payments",
      // A payment without its row could be used again. The same proof and request still find their claim: orders are
      // distinguished by their hash.
      onDeletion: {
        anonymise: (db, { _id, order: { focus, bodyHash } }) =>
          db.patch("paymentClaims", _id, { order: { focus, bodyHash } }),
      },
    },
    final: { field: "state", states: ["delivered"] },
    openWhen: {
      paidReports: waiting("by_state", "state", ["settling", "generating"], "createdAt"),
    },
    withheld: ["authorization"],
  },
  relayerFailures: {
    keep: { days: 7, why: "failures of a payer's wallet count for a day", aged: older("at") },
  },
};
