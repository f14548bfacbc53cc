import { defineTable } from "convex/server";
import { v } from "convex/values";
import { vTransfer } from "../tables";
import { due, ofUser, type RecordsOf } from "../../lib/records/records";
import { NEVER } from "../../lib/time";

/** How often a settled hint with deposits is checked again. */
export const RECHECKS = 2;

const vDepositState = v.union(
  /** Seen on the chain, with too few confirmations. */
  v.literal("pending"),
  /** Its credits are on the user's ledger. */
  v.literal("credited"),
  /** Confirmed, but its sending address has no user yet. */
  v.literal("unmatched"),
  /** The chain has dropped it, and its credits are reversed. It starts again when it is mined again. */
  v.literal("reversed"),
  /** Brings no credits, for the reason on the row. */
  v.literal("ignored"),
);

const vHintState = v.union(
  /** A check is running. */
  v.literal("checking"),
  /** The chain has no answer yet, or could not be reached. */
  v.literal("waiting"),
  /** All its transfers are settled, or it has none for the reason on the row. */
  v.literal("settled"),
);

/** A transfer of USDC to the platform wallet, as it is on the chain. */
export const vMovedTransfer = v.object({
  ...vTransfer.omit("txHash").fields,
  /** The index of its log in the block it was last seen in, which indexers use. */
  logIndex: v.number(),
  /** The nonce of the signed payment (EIP-3009) that it executed. */
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
    /** Changes when a check begins and when it ends: results of an earlier one are dropped. Absent on rows of 0.1.0. */
    attempt: v.optional(v.number()),
    /** On rows of 0.1.0. */
    turn: v.optional(v.number()),
    /** Checks ended since it began to wait, or since it was settled. */
    checks: v.number(),
    /** When it began to wait. */
    openedAt: v.number(),
    /** When the dispatcher has it checked next; `NEVER` while its check is open (`lib/work`), and when it has ended. */
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
    /** The user it was credited to; removed when they delete their data, because the ledger has it too. */
    userId: v.optional(v.string()),
    /** Whether the price of a report was left out of its credits. */
    lessReport: v.optional(v.boolean()),
    /** The whole credits it brought. */
    credits: v.optional(v.number()),
    /** How often it was credited: more than once only if the chain dropped it in between. */
    creditings: v.number(),
    seenAt: v.number(),
    /** When to look for the user of an unmatched one again; otherwise `NEVER`. */
    nextMatchAt: v.number(),
  })
    .index("by_transfer", ["txHash", "position"])
    .index("by_txHash_and_state", ["txHash", "state"])
    .index("by_from_and_state", ["from", "state"])
    .index("by_userId", ["userId"])
    .index("by_nextMatchAt", ["nextMatchAt"]),
};

export const depositRecords: RecordsOf<typeof depositTables> = {
  depositHints: {
    keep: {
      days: 30,
      why: "it is settled; its deposits are kept, and naming it again starts a new check",
      aged: (rows, before) =>
        rows.withIndex("by_nextCheckAt", (q) => q.eq("nextCheckAt", NEVER).lt("_creationTime", before)),
      ended: ({ state, reason, checks }) =>
        state === "settled" && (reason !== undefined || checks >= RECHECKS),
    },
    final: { field: "state", states: ["settled"] },
    openWhen: { depositChecks: due("nextCheckAt") },
  },
  deposits: {
    keep: "money that came in",
    ownedBy: {
      rows: ofUser("by_userId"),
      section: "deposits",
      // A transfer without its row could be credited again; the ledger has the user it was credited to.
      onDeletion: { anonymise: (db, { _id }) => db.patch("deposits", _id, { userId: undefined }) },
    },
    final: { field: "state", states: ["credited"] },
    withheld: ["authorization"],
  },
};
