import { defineTable } from "convex/server";
import { v } from "convex/values";
import { vTransfer } from "../tables";
import { due, ofUser, type RecordsOf } from "../../lib/records/records";
import { NEVER } from "../../lib/time";

const vDepositState = v.union(
  /** Seen in the chain, with too few confirmations. */
  v.literal("pending"),
  /** Its credits are on the user's ledger. */
  v.literal("credited"),
  /** Confirmed, but nobody is known by the sending address yet. */
  v.literal("unmatched"),
  /** The chain has dropped it; credits it had brought are taken back. It begins anew when it is mined again. */
  v.literal("reversed"),
  /** Brings no credits, for the row's reason. */
  v.literal("ignored"),
);

const vHintState = v.union(
  /** A question to the chain is under way. */
  v.literal("checking"),
  /** The chain has not said enough yet, or could not be asked. */
  v.literal("waiting"),
  /** All its transfers are settled, or it has none for the reason on the row. */
  v.literal("settled"),
);

/** A transfer of USDC to the platform wallet, as the chain has it. */
export const vMovedTransfer = v.object({
  ...vTransfer.omit("txHash").fields,
  /** Of its log among those of the block it was last seen in: what indexers call it. */
  logIndex: v.number(),
  /** The nonce of the signed payment (EIP-3009) that it carried out. */
  authorization: v.optional(v.string()),
});

export const vSeenIn = v.object({ blockNumber: v.number(), blockHash: v.string() });

export const depositTables = {
  /**
   * Every transaction that a webhook has named, true or not: what to ask the chain about. Written by
   * `payments/deposits` before anything else happens, so that nothing is lost. Dies a month after it was first named,
   * if the chain has settled it.
   */
  depositHints: defineTable({
    /** Lower case. */
    txHash: v.string(),
    state: vHintState,
    /** Why a settled transaction has no deposit. */
    reason: v.optional(v.string()),
    /** Counts the checks that were started: the word of an earlier one is dropped. Absent on rows of 0.1.0. */
    attempt: v.optional(v.number()),
    /** On rows of 0.1.0. */
    turn: v.optional(v.number()),
    /** Checks ended since it began to wait, or since it was settled. */
    checks: v.number(),
    /** When it began to wait. */
    openedAt: v.number(),
    /** When the cron looks after it: the next check, or the moment a running one counts as lost; else `NEVER`. */
    nextCheckAt: v.number(),
  })
    .index("by_txHash", ["txHash"])
    .index("by_nextCheckAt", ["nextCheckAt"]),

  /** One per transfer of USDC to the platform wallet, as read from the chain. Written by `payments/deposits`. Kept. */
  deposits: defineTable({
    /** Lower case. */
    txHash: v.string(),
    ...vMovedTransfer.fields,
    /** The block it was last seen in. */
    ...vSeenIn.fields,
    state: vDepositState,
    /** Why it is ignored. */
    reason: v.optional(v.string()),
    /** Whom it was credited to; taken off when they delete their data, as the ledger knows it too. */
    userId: v.optional(v.string()),
    /** The price of a report was left out of its credits. */
    lessReport: v.optional(v.boolean()),
    /** Whole credits it brought. */
    credits: v.optional(v.number()),
    /** How often it was credited: more than once only when the chain had dropped it in between. */
    creditings: v.number(),
    seenAt: v.number(),
    /** When an unmatched one looks for its user again; else `NEVER`. */
    nextMatchAt: v.number(),
  })
    .index("by_transfer", ["txHash", "position"])
    .index("by_from_and_state", ["from", "state"])
    .index("by_userId", ["userId"])
    .index("by_nextMatchAt", ["nextMatchAt"]),
};

export const depositRecords: RecordsOf<typeof depositTables> = {
  depositHints: {
    keep: {
      days: 30,
      why: "the chain has said all about it; its deposits are kept, and naming it again asks anew",
      aged: (rows, before) =>
        rows.withIndex("by_nextCheckAt", (q) => q.eq("nextCheckAt", NEVER).lt("_creationTime", before)),
      ended: ({ state }) => state === "settled",
    },
    final: { field: "state", states: ["settled"] },
    openWhen: { depositChecks: due("nextCheckAt") },
  },
  deposits: {
    keep: "money that came in",
    ownedBy: {
      rows: ofUser("by_userId"),
      section: "deposits",
      // A transfer without its row could be credited again; the ledger knows whom it was credited to.
      onDeletion: { anonymise: (db, { _id }) => db.patch("deposits", _id, { userId: undefined }) },
    },
    final: { field: "state", states: ["credited"] },
    withheld: ["authorization"],
  },
};
