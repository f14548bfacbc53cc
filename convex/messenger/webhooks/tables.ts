import { defineTable } from "convex/server";
import { v, type Infer } from "convex/values";
import { literals } from "../../lib/literals";
import { made, ofUser, type RecordsOf } from "../../lib/records/records";

/** Events that anybody may receive. */
export const PUBLIC_EVENTS = ["signal.issued", "signal.closed"] as const;
/** Events that only their own user gets. */
export const OWN_EVENTS = ["report.ready", "alert.fired", "transaction.ended"] as const;
export const EVENTS = [...PUBLIC_EVENTS, ...OWN_EVENTS] as const;

const vEventType = literals(...EVENTS);
export type EventType = Infer<typeof vEventType>;

/** Something that has happened. */
export const vEvent = v.object({
  /** Its `webhook-id`: the same in every attempt, and at every webhook. */
  id: v.string(),
  type: vEventType,
  /** Epoch ms. */
  at: v.number(),
  /** JSON. */
  data: v.string(),
});
export type Event = Infer<typeof vEvent>;

/** The most posts that wait for one webhook: of one that has been silent for long, the oldest go. */
export const MOST_WAITING = 50;

export const webhookTables = {
  /**
   * Addresses to which users want events posted. Written by `messenger/webhooks`, and by `messenger/configs`, which ends
   * all of an id that has got an owner. Deleted when its user removes it or its receiver wants no more; a stranger's after
   * 30 days in which it took no post.
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
    /** Why its latest post failed, if it did. */
    problem: v.optional(v.string()),
  })
    .index("by_userId", ["userId"])
    .index("by_keyId", ["keyId"]),

  /** Posts: one row for each event and webhook. Written by `messenger/webhooks`. Can be read for 7 days, dies after 30. */
  webhookPosts: defineTable({
    userId: v.string(),
    webhookId: v.id("webhooks"),
    event: vEvent,
    /** Both wait for `dueAt`; `retrying`: its webhook did not take its last post. */
    state: literals("due", "retrying", "delivered", "failed"),
    /** How many attempts have ended. */
    tries: v.number(),
    dueAt: v.number(),
    /** Why the last attempt failed, if it did. */
    problem: v.optional(v.string()),
  })
    .index("by_state_and_dueAt", ["state", "dueAt"])
    .index("by_webhookId", ["webhookId"])
    .index("by_userId", ["userId"]),
};

export const webhookRecords: RecordsOf<typeof webhookTables> = {
  webhooks: {
    keep: {
      days: 30,
      why: "strangers could fill the disk",
      aged: made,
      ended: async ({ _id }, _before, db) => {
        const posts = db.query("webhookPosts").withIndex("by_webhookId", (q) => q.eq("webhookId", _id));
        const latest = await posts.order("desc").take(MOST_WAITING);
        return latest.every(({ state }) => state !== "delivered");
      },
      stranger: ({ userId }) => userId,
    },
    ownedBy: { rows: ofUser("by_userId"), section: "webhooks", onDeletion: "go" },
    withheld: ["sealedSigning", "keyId"],
  },
  webhookPosts: {
    keep: { days: 30, why: "as a card; says whether a stranger's webhook is in use", aged: made },
    ownedBy: { rows: ofUser("by_userId"), section: "webhookPosts", onDeletion: "go" },
  },
};
