import { defineTable } from "convex/server";
import { v, type Infer } from "convex/values";
import { literals } from "../../lib/literals";
import { made, ofUser, type RecordsOf } from "../../lib/records/records";

/** Events that anybody may receive. */
export const PUBLIC_EVENTS = ["signal.issued", "signal.closed"] as const;
/** Events that only their own user gets. */
export const OWN_EVENTS = ["report.ready", "alert.fired", "transaction.ended"] as const;
export const EVENTS = [...PUBLIC_EVENTS, ...OWN_EVENTS] as const;

export const vEventType = literals(...EVENTS);
export type EventType = Infer<typeof vEventType>;

export const webhookTables = {
  /**
   * Addresses to which users want events posted. Written by `messenger/webhooks`. An
   * ended one dies after 90 days; a stranger's after 30 days in which it took no post and no alert of theirs was active.
   */
  webhooks: defineTable({
    userId: v.string(),
    url: v.string(),
    /** The events that it receives. */
    events: v.array(vEventType),
    /** The signing secret, sealed (`lib/security/seals`). */
    sealedSigning: v.string(),
    /** The id of the key that sealed it. */
    keyId: v.string(),
    state: literals("active", "ended"),
    createdAt: v.number(),
    endedAt: v.optional(v.number()),
    /** Why it ended. */
    reason: v.optional(v.string()),
    /** Why the last attempt failed, if it did. */
    problem: v.optional(v.string()),
  })
    .index("by_userId_and_state", ["userId", "state"])
    .index("by_keyId", ["keyId"])
    .index("by_state", ["state", "createdAt"]),

  /**
   * Events for webhooks, each once, in the order in which they were written: by the transaction that decides it (`messenger/webhooks/events`). A
   * user's own event is written only if one of their webhooks asks for it. It can be read for 7 days; a post is tried
   * for three.
   */
  webhookEvents: defineTable({
    /** Its user; `""` for a public event. */
    userId: v.string(),
    type: vEventType,
    /** JSON. */
    data: v.string(),
    /** Epoch ms. */
    at: v.number(),
  }).index("by_userId", ["userId"]),

  /** Posts: one row for each event and webhook. Written by `messenger/webhooks`. Dies after 30 days. */
  webhookPosts: defineTable({
    userId: v.string(),
    webhookId: v.id("webhooks"),
    eventId: v.id("webhookEvents"),
    /** Both wait for `dueAt`; `retrying`: its webhook did not take its last post. */
    state: literals("due", "retrying", "delivered", "failed"),
    /** How many attempts have ended. */
    tries: v.number(),
    dueAt: v.number(),
    /** The outcome of the last attempt. */
    outcome: v.optional(v.string()),
  })
    .index("by_state_and_dueAt", ["state", "dueAt"])
    .index("by_webhookId_and_state", ["webhookId", "state"])
    .index("by_userId", ["userId"]),
};

export const webhookRecords: RecordsOf<typeof webhookTables> = {
  webhooks: {
    keep: [
      {
        days: 90,
        why: "it has ended, and its user has seen why",
        aged: (rows, before) =>
          rows.withIndex("by_state", (q) => q.eq("state", "ended").lt("createdAt", before)),
        ended: ({ endedAt = 0 }, before) => endedAt < before,
      },
      {
        days: 30,
        why: "strangers could fill the disk",
        aged: (rows, before) =>
          rows.withIndex("by_state", (q) => q.eq("state", "active").lt("createdAt", before)),
        ended: async ({ _id: webhookId, userId }, _before, db) =>
          (await db
            .query("webhookPosts")
            .withIndex("by_webhookId_and_state", (q) => q.eq("webhookId", webhookId).eq("state", "delivered"))
            .first()) === null &&
          (await db
            .query("alerts")
            .withIndex("by_userId_and_state", (q) => q.eq("userId", userId).eq("state", "active"))
            .first()) === null,
        stranger: ({ userId }) => userId,
      },
    ],
    ownedBy: { rows: ofUser("by_userId_and_state"), section: "webhooks", onDeletion: "go" },
    withheld: ["sealedSigning", "keyId"],
  },
  webhookEvents: {
    keep: { days: 7, why: "read for a week", aged: made },
    ownedBy: { rows: ofUser("by_userId"), section: "webhookEvents", onDeletion: "go" },
  },
  webhookPosts: {
    keep: { days: 30, why: "as a card; says whether a stranger's webhook is in use", aged: made },
    ownedBy: { rows: ofUser("by_userId"), section: "webhookPosts", onDeletion: "go" },
  },
};
