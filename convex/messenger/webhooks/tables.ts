import { defineTable } from "convex/server";
import { v, type Infer } from "convex/values";
import { literals } from "../../lib/literals";
import { made, ofUser, type RecordsOf } from "../../lib/records/records";

/** Events that anybody may receive. */
export const PUBLIC_EVENTS = ["signal.issued", "signal.closed"] as const;
/** Events that only their own user gets. */
export const OWN_EVENTS = ["report.ready", "alert.fired", "alert.ending", "transaction.ended"] as const;
export const EVENTS = [...PUBLIC_EVENTS, ...OWN_EVENTS] as const;

export const vEventType = literals(...EVENTS);
export type EventType = Infer<typeof vEventType>;

/** How long an event can be read and resent. */
export const REPLAYED_DAYS = 7;
/** A post is tried for three days, and needs its event until then. */
const TRIED_DAYS = 4;

export const webhookTables = {
  /**
   * Addresses to which users want events posted. Written by `messenger/webhooks/rows` and `messenger/webhooks/posts`.
   * An ended one dies after 90 days; a stranger's 30 days after its last use, when no alert of theirs is active.
   */
  webhooks: defineTable({
    userId: v.string(),
    url: v.string(),
    /** The events that it receives. */
    events: v.array(vEventType),
    /** Whether a public event is among them: these go to every webhook that asks for them. */
    hearsPublic: v.boolean(),
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
    /** Epoch ms before which nothing is posted, so that a silent webhook keeps nobody else waiting. */
    restUntil: v.number(),
    /** Whether it took its last post quickly. */
    isQuick: v.optional(v.boolean()),
    /** Epoch ms, to within a day: when it last took one. */
    usedAt: v.optional(v.number()),
  })
    .index("by_userId_and_state", ["userId", "state"])
    .index("by_hearsPublic_and_state", ["hearsPublic", "state"])
    .index("by_keyId", ["keyId"])
    .index("by_state", ["state", "createdAt"]),

  /**
   * Events for webhooks, each once. Written by `messenger/webhooks/events` in the transaction that decides it; a user's
   * own event only if one of their webhooks asks for it. Can be read and sent again for 7 days; dies after 11.
   */
  webhookEvents: defineTable({
    /** Its user; `""` for a public event. */
    userId: v.string(),
    type: vEventType,
    /** JSON. */
    data: v.string(),
    /** Epoch ms. */
    at: v.number(),
  }).index("by_userId_and_at", ["userId", "at"]),

  /**
   * Posts: one row for each event and webhook. Written by `messenger/webhooks/events` and `messenger/webhooks/posts`.
   * Dies after 30 days.
   */
  webhookPosts: defineTable({
    userId: v.string(),
    webhookId: v.id("webhooks"),
    eventId: v.id("webhookEvents"),
    /** `due`: waits for `dueAt`. `posting`: the carrier has been posting it since `dueAt`. */
    state: literals("due", "posting", "delivered", "failed"),
    /** How many attempts have begun; identifies the current one. */
    tries: v.number(),
    dueAt: v.number(),
    /** Epoch ms: when it was first queued, or queued again. */
    askedAt: v.number(),
    /** The outcome of the last attempt. */
    outcome: v.optional(v.string()),
  })
    .index("by_state_and_dueAt", ["state", "dueAt"])
    .index("by_webhookId_and_state", ["webhookId", "state"])
    .index("by_webhookId_and_eventId", ["webhookId", "eventId"])
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
        ended: async ({ usedAt = 0, userId }, before, db) =>
          usedAt < before &&
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
    keep: {
      days: REPLAYED_DAYS + TRIED_DAYS,
      why: "sent again for a week, then tried",
      aged: made,
    },
    ownedBy: { rows: ofUser("by_userId_and_at"), section: "webhookEvents", onDeletion: "go" },
  },
  webhookPosts: {
    keep: { days: 30, why: "as a card", aged: made },
    ownedBy: { rows: ofUser("by_userId"), section: "webhookPosts", onDeletion: "go" },
  },
};
