import { defineTable } from "convex/server";
import { v, type Infer } from "convex/values";
import { literals } from "../../lib/literals";
import { ofUser, type RecordsOf } from "../../lib/records/records";
import { vRequest } from "../transactions/tables";

/** What somebody who named an owner's `userId` alone wants, and its owner decides. */
export const vWish = v.union(
  v.object({
    kind: v.literal("order"),
    walletId: v.string(),
    request: vRequest,
    /** Digits, micro-USD; absent where nobody knew a live price. */
    valueMicroUsd: v.optional(v.string()),
    /** The least that a swap may bring, and what one transaction of it may cost at most (wei), as its owner was shown. */
    minBuyAmount: v.optional(v.string()),
    mostFee: v.optional(v.string()),
  }),
  /** Where cards go; `null` clears a field, leaving it out keeps it. The sealed token is gone once this is decided or late. */
  v.object({
    kind: v.literal("delivery"),
    /** Of the bot's token: a keyed hash, by which the same one is known again, and the bot's id in it. */
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
   * What an owner is asked in their chat. Written by `wallets/orders/proposals` and, with the owner's tap,
   * `wallets/orders/approvals`. Kept: they say why something was signed.
   */
  approvals: defineTable({
    userId: v.string(),
    /** Whose tap decides: the account that is linked, by this link. */
    linkId: v.id("messengerLinks"),
    messengerId: v.string(),
    wish: vWish,
    /** Where it was begun, if not by somebody who has named the `userId` alone: then the tap is no approval of another's wish. */
    begun: v.optional(v.literal("chat")),
    /** By which a repeat finds it. */
    idempotencyKey: v.string(),
    /** Under which rules of the owner's it was asked (`users/levels`): under others it is void. */
    policyVersion: v.number(),
    /** `failed`: approved, and what was asked could not be begun any more. */
    state: literals("open", "approved", "refused", "failed"),
    card: v.optional(v.id("messages")),
    expiresAt: v.number(),
    /**
     * What ends it with its time, and is called off by its end. No backup holds what is scheduled: a question that was put
     * back by one, and has had its answer since, or was asked in another deployment, has none that waits, and is void.
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
