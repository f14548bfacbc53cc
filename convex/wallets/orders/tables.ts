import { defineTable } from "convex/server";
import { v, type Infer } from "convex/values";
import { literals } from "../../lib/literals";
import { ofUser, type RecordsOf } from "../../lib/records/records";
import { vRequest } from "../transactions/tables";

/** What a caller who only named an owner's `userId` wants, and its owner decides. */
export const vWish = v.union(
  v.object({
    kind: v.literal("order"),
    walletId: v.string(),
    request: vRequest,
    /** Digits, micro-USD; absent without a live price. */
    valueMicroUsd: v.optional(v.string()),
    /** The least that a swap may bring, and the most that one of its transactions may cost (wei), as its owner was shown. */
    minBuyAmount: v.optional(v.string()),
    mostFee: v.optional(v.string()),
  }),
  /**
   * Settings of card delivery; `null` clears a field, leaving it out keeps it. The sealed token is removed once this is
   * decided or expired.
   */
  v.object({
    kind: v.literal("delivery"),
    /** A keyed hash of the bot's token, which recognises the same token, and the bot's id in it. */
    botTag: v.optional(v.string()),
    botId: v.optional(v.string()),
    sealedBotToken: v.optional(v.union(v.string(), v.null())),
    chatId: v.optional(v.union(v.string(), v.null())),
    setBy: v.array(v.string()),
  }),
);
export type Wish = Infer<typeof vWish>;
export type OrderWish = Extract<Wish, { kind: "order" }>;

export const orderTables = {
  /**
   * Questions to owners in their chat. Written by `wallets/orders/proposals` and, with the owner's tap,
   * `wallets/orders/approvals`. Kept: they say why something was signed.
   */
  approvals: defineTable({
    userId: v.string(),
    /** The link whose account decides. */
    linkId: v.id("messengerLinks"),
    messengerId: v.string(),
    wish: vWish,
    /** Where the order was begun, if the owner began it: then the tap does not approve another's wish. */
    begun: v.optional(v.literal("chat")),
    /** The key by which a repeat finds it. */
    idempotencyKey: v.string(),
    /** The version of the owner's rules when it was asked (`users/levels`): under another version it is void. */
    policyVersion: v.number(),
    /** `failed`: approved, but the request could not begin any more. */
    state: literals("open", "approved", "refused", "failed"),
    card: v.optional(v.id("messages")),
    expiresAt: v.number(),
    /**
     * The scheduled function that expires it; deciding cancels it. A backup does not contain scheduled functions: a
     * question that an import has restored has none that waits, and is void.
     */
    closing: v.optional(v.id("_scheduled_functions")),
    decidedAt: v.optional(v.number()),
    transactionId: v.optional(v.id("transactions")),
    error: v.optional(v.string()),
  })
    .index("by_userId_and_begun", ["userId", "begun"])
    .index("by_userId_and_idempotencyKey", ["userId", "idempotencyKey"])
    .index("by_userId_and_state", ["userId", "state"]),
};

export const orderRecords: RecordsOf<typeof orderTables> = {
  approvals: {
    keep: "why something was signed",
    ownedBy: { rows: ofUser("by_userId_and_begun"), section: "approvals", onDeletion: "stay" },
    withheld: ["wish"],
  },
};
