import { defineTable } from "convex/server";
import { v, type Infer } from "convex/values";
import { literals } from "../lib/literals";
import type { RecordsOf } from "../platform/records";
import { ALERT_TYPES, DIRECTIONS } from "./coins";

const vEnd = v.object({
  address: v.string(),
  label: v.optional(v.object({ exchange: v.string(), source: v.string() })),
});

/** The service's own measurement of a movement on Base. */
const vMovement = v.object({
  from: vEnd,
  to: vEnd,
  quantity: v.string(),
  position: v.number(),
  blockNumber: v.number(),
  blockHash: v.string(),
  price: v.object({ usd: v.number(), source: v.string(), observedAt: v.number() }),
});

/** An alert, from either source. */
export const vReported = v.object({
  token: v.string(),
  alertType: literals(...ALERT_TYPES),
  amount: v.number(),
  direction: literals(...DIRECTIONS),
  description: v.string(),
  chain: v.optional(v.string()),
  occurredAt: v.optional(v.number()),
  txHash: v.optional(v.string()),
});
export type Reported = Infer<typeof vReported>;
export type AlertType = Reported["alertType"];
export type MovementDirection = Reported["direction"];

/** An alert that the service has measured. */
export const vMeasured = vReported.extend({
  txHash: v.string(),
  occurredAt: v.number(),
  movement: vMovement,
});
export type Measured = Infer<typeof vMeasured>;

const vStored = vReported.extend({
  detectedAt: v.number(),
  messengerSent: v.boolean(),
  /** Whether the service has found the alert's statements on the chain. */
  verified: v.boolean(),
  movement: v.optional(vMovement),
});

/** As `publicAlertShape` shows it. */
export const vPublicAlert = vStored.extend({ source: literals("measured", "agent-reported") });
export type PublicAlert = Infer<typeof vPublicAlert>;

export const whaleTables = {
  /**
   * Whale alerts: those that the agent reports, and those measured on Base, which have a `movement`. Written by
   * `whales/model` (stored, merged) and `whales/alerts` (on a card, delivered). Kept.
   */
  whaleAlerts: defineTable(
    vStored.extend({
      /** When (epoch ms) the card with it was queued; 0 while there is none. */
      cardHour: v.number(),
    }),
  )
    .index("by_detectedAt", ["detectedAt"])
    .index("by_token_and_alertType", ["token", "alertType", "detectedAt"])
    .index("by_cardHour", ["cardHour", "detectedAt"]),

  /**
   * How far whales have been looked for: one row. Written by `whales/alerts`; kept, so that no block is skipped or read
   * twice.
   */
  whaleProgress: defineTable({
    /** The last block of Base that was read. */
    block: v.optional(v.number()),
    /** Epoch ms: the start of the last hour whose question was sent, and when a question last ended, with an answer or not. */
    hour: v.optional(v.number()),
    endedAt: v.optional(v.number()),
  }),
};

export const whaleRecords: RecordsOf<typeof whaleTables> = {
  whaleAlerts: { keep: "the alerts that the service has shown" },
  whaleProgress: { keep: "one row: how far whales have been looked for" },
};
