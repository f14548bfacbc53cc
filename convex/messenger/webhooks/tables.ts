import { defineTable } from "convex/server";
import { v, type Infer } from "convex/values";
import { literals } from "../../lib/literals";
import { indexCreatedBefore, indexOfUser, type RecordsOf } from "../../platform/records";
import type { SealContext } from "../../lib/seals";

/** The first two are public, the others for their own user only. */
const vEventType = literals(
  "signal.issued",
  "signal.closed",
  "report.ready",
  "alert.fired",
  "standing.fired",
  "transaction.ended",
);
export type EventType = Infer<typeof vEventType>;

/** An event, as it is posted. */
export const vWebhookEvent = v.object({
  /** Its `webhook-id`: the same in every attempt, and at every webhook. */
  id: v.string(),
  type: vEventType,
  /** Epoch ms. */
  timestamp: v.number(),
  /** JSON. */
  data: v.string(),
});
export type Event = Infer<typeof vWebhookEvent>;

export const webhookTables = {
  /**
   * Users' addresses for events. Written by `messenger/webhooks`, and by `messenger/notices`, which removes all of an
   * id that gets an owner. Deleted when its user removes it or its receiver answers that it is gone; an anonymous
   * user's after 30 days if it did not accept its latest post.
   */
  webhooks: defineTable({
    userId: v.string(),
    url: v.string(),
    /** The signing secret, sealed (`lib/seals`). */
    sealedSigning: v.string(),
    /** Why its latest post failed, if it did. */
    problem: v.optional(v.string()),
  }).index("by_userId", ["userId"]),

  /** Posts: one row per event and webhook. Written by `messenger/webhooks`. Readable for 7 days, deleted after 30. */
  webhookPosts: defineTable({
    userId: v.string(),
    webhookId: v.id("webhooks"),
    event: vWebhookEvent,
    /** Both wait for `dueAt`; `retrying`: the webhook did not accept its last post. */
    state: literals("due", "retrying", "delivered", "failed"),
    /** How many attempts have ended. */
    tries: v.number(),
    dueAt: v.number(),
  })
    .index("by_state_and_dueAt", ["state", "dueAt"])
    .index("by_userId", ["userId"]),
};

export const webhookRecords: RecordsOf<typeof webhookTables> = {
  webhooks: {
    keep: {
      days: 30,
      why: "strangers could fill the disk with receivers that are dead; each is posted to every day",
      aged: indexCreatedBefore,
      ended: ({ problem }) => problem !== undefined,
      stranger: ({ userId }) => userId,
    },
    ownedBy: { rows: indexOfUser("by_userId"), section: "webhooks", onDeletion: "go" },
    withheld: ["sealedSigning"],
    sealed: {
      envelope: ({ sealedSigning }) => sealedSigning,
      context: getSecretSeal,
      replace: (db, { _id }, sealedSigning) => db.patch("webhooks", _id, { sealedSigning }),
    },
  },
  webhookPosts: {
    keep: { days: 30, why: "as a card", aged: indexCreatedBefore },
    ownedBy: { rows: indexOfUser("by_userId"), section: "webhookPosts", onDeletion: "go" },
  },
};

/** The context of a secret's envelope: it opens only for its user and address. */
export function getSecretSeal({ userId, url }: { userId: string; url: string }): SealContext {
  return { purpose: "webhook secret", owner: `${userId}\n${url}` };
}
