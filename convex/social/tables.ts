import { defineTable } from "convex/server";
import { v, type Infer } from "convex/values";
import { indexOfUser, type RecordsOf } from "../platform/records";

const vMentionStatus = v.union(
  /** Received; undecided, or its trade is open. */
  v.literal("pending"),
  /** Its trade is confirmed. */
  v.literal("processed"),
  /** Its trade should have been executed, but could not be. */
  v.literal("failed"),
  /** There was nothing to execute. */
  v.literal("ignored"),
);

export type MentionStatus = Infer<typeof vMentionStatus>;

export const socialTables = {
  /**
   * Every mention of the service's account, once. Written by `social/mentions`. A user's mentions live until the user
   * deletes their data, those of unlinked authors for 30 days.
   */
  mentions: defineTable({
    tweetId: v.string(),
    authorId: v.string(),
    /** At that time; handles are given up and taken by others. */
    authorHandle: v.optional(v.string()),
    /** The author's own text, HTML entities decoded, without quoted and retweeted posts. */
    text: v.string(),
    /** The network's time, epoch ms. */
    postedAt: v.optional(v.number()),
    receivedAt: v.number(),
    /** Why it cannot be an order, from the payload (`payloads.ts`). */
    objection: v.optional(v.string()),
    status: vMentionStatus,
    /** Why it failed or was ignored. */
    reason: v.optional(v.string()),
    /** The user who had proved to own the author's account. */
    userId: v.optional(v.string()),
    /** How certain it is that it orders a trade, 0 to 1 (`commands.ts`). */
    confidence: v.optional(v.number()),
    /** Its order, or the record that it could not be read. */
    tradeId: v.optional(v.id("orders")),
    endedAt: v.optional(v.number()),
  })
    .index("by_tweetId", ["tweetId"])
    .index("by_status", ["status"])
    .index("by_userId", ["userId", "receivedAt"]),

  /** Accounts of the network whose posts may move a user's money. Written by `social/authors` and `social/app`. */
  socialAuthors: defineTable({
    /** The network's own id of the account, which is never reused. */
    authorId: v.string(),
    /** At the time of the proof; for display. */
    handle: v.string(),
    userId: v.string(),
    /** Switched on by the user; off until then. */
    enabled: v.boolean(),
    linkedAt: v.number(),
  })
    .index("by_authorId", ["authorId"])
    .index("by_userId", ["userId"]),
};

export const socialRecords: RecordsOf<typeof socialTables> = {
  // On deletion the links are deleted first, so that no mention moves anything any more.
  socialAuthors: {
    keep: "a user's proof, until they unlink the account",
    ownedBy: { rows: indexOfUser("by_userId"), section: "socialAccounts", onDeletion: "go" },
  },
  mentions: {
    keep: {
      days: 30,
      why: "a stranger's words are not ours to keep; a user's are their history",
      aged: (rows, before) =>
        rows.withIndex("by_userId", (q) => q.eq("userId", undefined).lt("receivedAt", before)),
    },
    ownedBy: { rows: indexOfUser("by_userId"), section: "mentions", onDeletion: "go" },
  },
};
