import { defineTable } from "convex/server";
import { v, type Infer } from "convex/values";
import type { Doc } from "../_generated/dataModel";
import { literals } from "../lib/literals";
import { indexCreatedBefore, indexOfUser, type RecordsOf } from "../platform/records";

/** The condition of an alert (`reading` has its bounds). */
export const vCondition = v.union(
  /** The price is at the level or beyond it. */
  v.object({
    kind: v.literal("price"),
    token: v.string(),
    direction: literals("above", "below"),
    levelUsd: v.number(),
  }),
  /** The price is at least this percentage above or below the price of so many hours before. */
  v.object({
    kind: v.literal("change"),
    token: v.string(),
    direction: literals("up", "down"),
    percent: v.number(),
    windowHours: v.number(),
  }),
  /** The funding rate of the perpetual market is at the level or beyond it. */
  v.object({
    kind: v.literal("funding"),
    token: literals("BTC", "ETH", "SOL"),
    direction: literals("above", "below"),
    percentPerHour: v.number(),
  }),
  /** One measured movement on Base into or out of an exchange is worth at least this much. */
  v.object({
    kind: v.literal("flow"),
    token: literals("USDC", "USDT", "DAI", "ETH", "WETH", "CBBTC"),
    direction: literals("in", "out"),
    overUsd: v.number(),
  }),
  /** The time of day, such as `07:30`, in a zone of the IANA database. */
  v.object({ kind: v.literal("digest"), time: v.string(), timeZone: v.string() }),
);
export type Condition = Infer<typeof vCondition>;

/** A value that is compared with the alerts' levels. */
export const vObservation = v.object({
  /** Epoch ms: when the service stored it. Orders the observations of a subject. */
  at: v.number(),
  /** Epoch ms: when its source measured it. */
  observedAt: v.number(),
  /** In the unit of its subject's levels. */
  value: v.number(),
  /** Its source, or the address of its transaction. */
  source: v.string(),
});
export type Observation = Infer<typeof vObservation>;

export const alertTables = {
  /**
   * Users' alerts. Written by `alerts/model` (proposed, confirmed, ended, moved to an account) and `alerts/watch`
   * (fired). A proposal is deleted after a day, an ended alert after 90 days. An active alert fires when an observation of
   * its subject crosses its level: the previous observation was on the other side. Then it is quiet for an hour.
   */
  alerts: defineTable({
    userId: v.string(),
    condition: vCondition,
    /** Whether it ends at its first firing. */
    once: v.optional(v.boolean()),
    /** `proposed`: not confirmed by its user yet. */
    state: literals("proposed", "active", "off"),
    /** The subject of its observations: `price:BTC`, `change:BTC:24`, `funding:ETH`, `flow:USDC:in`, `clock`. */
    subject: v.string(),
    /** Whether it fires at or above the level, or at or below it. */
    side: literals("over", "under"),
    /** In the unit of its subject: USD or percent; 0 for the clock. */
    level: v.number(),
    /** Epoch ms: it is quiet until then. On the clock: when it fires next. */
    readyAt: v.number(),
    confirmedAt: v.optional(v.number()),
    /** Epoch ms: when it was switched off, or ended by itself. */
    endedAt: v.optional(v.number()),
    /** Epoch ms: the end that its user chose. */
    until: v.optional(v.number()),
    /** Epoch ms: when an active one ends by itself. */
    expiresAt: v.optional(v.number()),
    /** How often it has fired. */
    fired: v.number(),
    /** The alert that it was edited from, which is switched off when this one is set. */
    replaces: v.optional(v.id("alerts")),
  })
    .index("by_userId_and_state", ["userId", "state"])
    .index("by_level", ["state", "subject", "side", "level"])
    .index("by_readyAt", ["state", "subject", "readyAt"])
    .index("by_expiresAt", ["state", "expiresAt"])
    // Sorts by creation: housekeeping deletes the oldest of one state.
    // eslint-disable-next-line @convex-dev/no-duplicate-indexes
    .index("by_state", ["state"]),

  /**
   * The last observation of each subject that was compared with its alerts: one row a subject. Written by `alerts/watch`,
   * and by `alerts/model` when a subject gets its first alert. The row of the clock says when all were last compared.
   */
  alertCursors: defineTable({
    subject: v.string(),
    /** The subject whose stored values its observations are made from: of a change, the coin's price. */
    basis: v.string(),
    /** Epoch ms: the `at` of the last observation that was compared. */
    at: v.number(),
    last: v.union(vObservation, v.null()),
  })
    .index("by_subject", ["subject"])
    .index("by_basis_and_at", ["basis", "at"]),

  /** The firings of alerts, one for each observation. Written by `alerts/watch`, and by `alerts/model` (moved). Deleted after 90 days. */
  alertFirings: defineTable({
    alertId: v.id("alerts"),
    userId: v.string(),
    observation: vObservation,
    /** The text of the message. */
    text: v.string(),
  })
    .index("by_alertId_and_observation", ["alertId", "observation.observedAt"])
    .index("by_userId", ["userId"]),

  /** The last question that the bot asked a user about an alert; an answer within ten minutes completes it. Written by `alerts/model`; deleted after a day. */
  alertQuestions: defineTable({
    userId: v.string(),
    /** Words in which the answer stands in the place of `…`. */
    template: v.string(),
    /** The alert that the answer edits. */
    alertId: v.optional(v.id("alerts")),
  }).index("by_userId", ["userId"]),
};

export type Alert = Doc<"alerts">;

export const alertRecords: RecordsOf<typeof alertTables> = {
  alerts: {
    keep: [
      {
        days: 1,
        why: "it was not confirmed",
        aged: (rows, before) =>
          rows.withIndex("by_state", (q) => q.eq("state", "proposed").lt("_creationTime", before)),
      },
      {
        days: 90,
        why: "it was switched off, and anonymous callers could fill the disk with ended alerts",
        aged: (rows, before) =>
          rows.withIndex("by_state", (q) => q.eq("state", "off").lt("_creationTime", before)),
        ended: ({ endedAt = 0 }, before) => endedAt < before,
      },
    ],
    ownedBy: {
      rows: indexOfUser("by_userId_and_state"),
      section: "alerts",
      onDeletion: "go",
    },
  },
  alertCursors: { keep: "a subject's row goes when it needs to be asked for, and has no active alert" },
  alertFirings: {
    keep: { days: 90, why: "a season's history; the card is kept for a month", aged: indexCreatedBefore },
    ownedBy: { rows: indexOfUser("by_userId"), section: "alertFirings", onDeletion: "go" },
  },
  alertQuestions: {
    keep: { days: 1, why: "an answer counts for ten minutes", aged: indexCreatedBefore },
    ownedBy: { rows: indexOfUser("by_userId"), onDeletion: "go" },
  },
};
