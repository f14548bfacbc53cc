import { defineTable } from "convex/server";
import { v, type Infer } from "convex/values";
import { literals } from "../lib/literals";
import { waiting, type RecordsOf } from "../lib/records/records";
import type { ALERT_TYPES, DIRECTIONS } from "./kinds";
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

export const vBlockPlace = v.object({ number: v.number(), hash: v.string() });

export type Reported = Infer<typeof vReported>;
export type AlertType = (typeof ALERT_TYPES)[number];
export type Direction = (typeof DIRECTIONS)[number];

/** The states of an unfinished watch, as its table explains them. */
const OPEN = ["claimed", "prompting", "polling"] as const;

export const whaleTables = {
  /**
   * One question about whales per hour: its prompt, its job, its result. Written by `whales/agent`; kept as the record
   * of what was asked and why an hour has no alerts.
   */
  whaleWatches: defineTable({
    /** Epoch ms of the hour's start; one row per hour. */
    hour: v.number(),
    /**
     * `claimed`: the prompt has not left. `prompting`: it may have left and is never sent again. `polling`: the agent
     * has the job `jobId`. `done` and `failed` are final.
     */
    state: literals(...OPEN, "done", "failed"),
    startedAt: v.number(),
    /** On rows of earlier versions. */
    leaseUntil: v.optional(v.number()),
    jobId: v.optional(v.string()),
    acceptedAt: v.optional(v.number()),
    /** How often the job was polled. */
    polls: v.number(),
    endedAt: v.optional(v.number()),
    /** For the operator: why it failed, or why an answer brought nothing. */
    note: v.optional(v.string()),
    /** The agent API takes no prompts before this moment. */
    pausedUntil: v.optional(v.number()),
    /** How many alerts of the answer were new, already known, and unusable. */
    counts: v.optional(v.object({ stored: v.number(), merged: v.number(), dropped: v.number() })),
  })
    .index("by_hour", ["hour"])
    .index("by_state", ["state"]),

  /**
   * Whale alerts: those that the agent reports, and those measured on Base, which have a `movement`. Written by
   * `whales/agent` (the agent's: stored, merged, verified), `whales/chain` (measured: stored, corrected, withdrawn) and
   * `whales/news` (delivered). Kept.
   */
  whaleAlerts: defineTable({
    ...vReported.fields,
    detectedAt: v.number(),
    /** The watch that first brought it; absent for a measured one. */
    watchId: v.optional(v.id("whaleWatches")),
    messengerSent: v.boolean(),
    /** Whether the service has found the alert's statements on the chain. */
    verified: v.boolean(),
    /** On rows of earlier versions. */
    checks: v.optional(v.number()),
    checkAt: v.optional(v.number()),
    movement: v.optional(vMovement),
    /** Of the movement. */
    blockNumber: v.optional(v.number()),
    /** Epoch ms since which its block is no longer on the chain, and the alert is not shown. */
    withdrawnAt: v.optional(v.number()),
    /** For a measured one: the hour (epoch ms) of its card; 0 while there is none. */
    cardHour: v.optional(v.number()),
  })
    .index("by_withdrawnAt", ["withdrawnAt", "detectedAt"])
    .index("by_withdrawnAt_and_blockNumber", ["withdrawnAt", "blockNumber"])
    .index("by_token_and_alertType", ["token", "alertType", "detectedAt"])
    .index("by_txHash", ["txHash"])
    .index("by_watchId", ["watchId"])
    .index("by_cardHour", ["cardHour", "detectedAt"]),

  /**
   * How far Base has been read for whales: one row. Written by `whales/chain/cursor`; kept, so that no block is left
   * out after an outage and none is reported twice.
   */
  whaleCursors: defineTable({
    /** On rows of earlier versions. */
    attempt: v.optional(v.number()),
    leaseUntil: v.optional(v.number()),
    /** The last block that was read, and its time in epoch ms; none before the first run. */
    at: v.optional(v.object({ number: v.number(), hash: v.string(), time: v.number() })),
    /** On rows of earlier versions. */
    trail: v.optional(v.array(vBlockPlace)),
    /** Blocks to ask for at once. */
    span: v.number(),
    /** One less than the number of blocks that the node last refused, and since when (epoch ms). */
    ceiling: v.optional(v.object({ span: v.number(), since: v.number() })),
  }),

  /**
   * The last block of each reading of some hours: places to go back to when the chain has dropped blocks. Written by
   * `whales/chain/cursor`, only read after a reorganisation; each reading deletes the oldest.
   */
  whalePlaces: defineTable(vBlockPlace).index("by_number", ["number"]),
};

export const whaleRecords: RecordsOf<typeof whaleTables> = {
  whaleWatches: {
    keep: "a row an hour: what was asked, and why an hour has no alerts",
    openWhen: { whaleWatches: waiting("by_state", "state", OPEN, "startedAt") },
  },
  whaleAlerts: { keep: "the alerts that the service has shown" },
  whaleCursors: { keep: "one row: how far Base has been read" },
  whalePlaces: { keep: "some hundred rows: a new one takes the place of the oldest" },
};
