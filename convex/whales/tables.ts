import { defineTable } from "convex/server";
import { v, type Infer } from "convex/values";
import { literals } from "../lib/literals";
import type { RecordsOf } from "../lib/records/records";
import type { ALERT_TYPES, DIRECTIONS } from "./coins";
import { vMovement, vPublicAlert } from "./validators";

/** An alert, from either source. */
export const vReported = vPublicAlert.omit("source", "detectedAt", "messengerSent", "verified", "movement");

/** An alert that the service has measured, as it is stored. */
export const vMeasured = vReported.extend({
  txHash: v.string(),
  occurredAt: v.number(),
  movement: vMovement,
});
export type Measured = Infer<typeof vMeasured>;

export type Reported = Infer<typeof vReported>;
export type AlertType = (typeof ALERT_TYPES)[number];
export type Direction = (typeof DIRECTIONS)[number];

export const whaleTables = {
  /**
   * One question about whales per hour, and its result. Written by `whales/hour`; kept as the record of why an hour has
   * no alerts.
   */
  whaleWatches: defineTable({
    /** Epoch ms of the hour's start; one row per hour. */
    hour: v.number(),
    /** `asking`: its one action is under way, or was lost. */
    state: literals("asking", "done", "failed"),
    startedAt: v.number(),
    /** For the operator: why it failed, or why an answer brought nothing. */
    note: v.optional(v.string()),
    /** The agent API takes no prompts before this moment. */
    pausedUntil: v.optional(v.number()),
  })
    .index("by_hour", ["hour"])
    .index("by_state", ["state"]),

  /**
   * Whale alerts: those that the agent reports, and those measured on Base, which have a `movement`. Written by
   * `whales/model` (stored, merged) and `whales/hour` (on a card, delivered). Kept.
   */
  whaleAlerts: defineTable({
    ...vReported.fields,
    detectedAt: v.number(),
    messengerSent: v.boolean(),
    /** Whether the service has found the alert's statements on the chain. */
    verified: v.boolean(),
    movement: v.optional(vMovement),
    /** Of the movement. */
    blockNumber: v.optional(v.number()),
    /** When (epoch ms) the card with it was queued; 0 while there is none. */
    cardHour: v.number(),
  })
    .index("by_detectedAt", ["detectedAt"])
    .index("by_blockNumber", ["blockNumber"])
    .index("by_token_and_alertType", ["token", "alertType", "detectedAt"])
    .index("by_cardHour", ["cardHour", "detectedAt"]),

  /**
   * How far Base has been read for whales: one row, with the last block that was read. Written by `whales/cursor`; kept,
   * so that no block is left out after an outage and none is reported twice.
   */
  whaleCursors: defineTable({ block: v.number() }),
};

export const whaleRecords: RecordsOf<typeof whaleTables> = {
  whaleWatches: {
    keep: "a row an hour: what was asked, and why an hour has no alerts",
  },
  whaleAlerts: { keep: "the alerts that the service has shown" },
  whaleCursors: { keep: "one row: how far Base has been read" },
};
