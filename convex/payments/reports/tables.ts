import { defineTable } from "convex/server";
import { v, type Infer } from "convex/values";
import { literals } from "../../lib/literals";
import { vResult, vSourceStates } from "../../research/shapes";
import { older, waiting, type RecordsOf } from "../../lib/records/records";

/** What a payment has bought. */
export const vPaidReport = v.object({
  result: vResult,
  sources: vSourceStates,
});

/** An EIP-3009 authorization: USDC's holder lets anybody move `value` to `to`, once per nonce. */
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
  /** A payment that the service carries out itself. */
  v.object({
    kind: v.literal("authorization"),
    authorization: vAuthorization,
    /** The payer's own name for the purchase (x402's `payment-identifier`). */
    identifier: v.optional(v.string()),
  }),
);
export type Proof = Infer<typeof vProof>;

/** What is bought, and by whom. */
export const vOrder = v.object({
  userId: v.optional(v.string()),
  /** A token's symbol, "" for the whole market. */
  focus: v.string(),
  /** Tells orders apart: a proof redeems one order. */
  bodyHash: v.string(),
});

/**
 * How well a proof shows that its sender is the payer: 0 a hash that anybody can read from the chain, 1 paid from a
 * wallet of the named user, 2 signed by the payer or opened with the payer's secret.
 */
const vStrength = literals(0, 1, 2);

const vClaimState = v.union(
  /** A signed payment is being carried out. */
  v.literal("settling"),
  /** Paid; nobody is writing the report. */
  v.literal("paid"),
  v.literal("generating"),
  v.literal("delivered"),
  /** The signed payment could not be carried out: nothing was moved. */
  v.literal("refused"),
);

/** Who failed: the codes of `lib/errors.ts` that a caller is told. */
export const vTroubleCode = literals("upstream", "internal", "not_configured");

export type Order = Infer<typeof vOrder>;
export type Strength = Infer<typeof vStrength>;

export const paidTables = {
  /**
   * One per payment for a report: who redeemed it for what, and how far that got. Written by `payments/reports`.
   * Kept for ever: a claim that died would open its payment to replay.
   */
  paymentClaims: defineTable({
    /** `auth:<payer>:<nonce>` for a signed payment, `log:<hash>:<position>` for a transfer found in the chain. */
    key: v.string(),
    order: vOrder,
    /** What the proof of a mined transfer is known by (`proofs.shownProof`); absent for a signed payment. */
    shown: v.optional(v.string()),
    strength: vStrength,
    /** A better proof has taken this claim from a bare hash; that happens once. */
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
    /** The payer's own name for the purchase: of a payer's claims one that is not refused has it. */
    identifier: v.optional(v.string()),
    /** The relayer's transaction that carries it out: the latest one, where an earlier one was given up. */
    settlementId: v.optional(v.id("transactions")),
    /** A facilitator was asked to carry it out: it may have done so whatever it said. */
    handedOver: v.optional(v.boolean()),
    /** Since when the authorization is said to be used by a transaction that cannot be found, or to have paid nothing. */
    unlocatedSince: v.optional(v.number()),
    /** The transaction that has paid. */
    txHash: v.optional(v.string()),
    createdAt: v.number(),
    /** Kept while the same proof yields it again, and no longer. */
    report: v.optional(
      v.object({
        ...vPaidReport.fields,
        model: v.string(),
        generatedAt: v.number(),
      }),
    ),
    /** When the report is forgotten; absent without one. */
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
   * Signed payments that were mined and have failed: the relayer paid for them and nobody else. Written by
   * `payments/reports/relayer`; deleted after a week.
   */
  relayerFailures: defineTable({
    at: v.number(),
    txHash: v.string(),
    /** Lower case. */
    payer: v.string(),
    /** SHA-256 of the payer's code; absent for a key's account. */
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
      // A payment without its row could be made use of again. The same proof and request still find their claim: orders
      // are told apart by their hash.
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
    keep: { days: 7, why: "what a payer's wallet has failed at counts for a day", aged: older("at") },
  },
};
