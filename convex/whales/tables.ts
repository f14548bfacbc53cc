import { defineTable } from "convex/server";
import { v, type Infer, type ObjectType } from "convex/values";

const vAlertType = v.union(
  v.literal("cex_inflow"),
  v.literal("cex_outflow"),
  v.literal("large_transfer"),
  v.literal("smart_money"),
);

export const vDirection = v.union(v.literal("bullish"), v.literal("bearish"), v.literal("neutral"));

/** What the agent tells of one movement. */
export const reportedFields = {
  token: v.string(),
  alertType: vAlertType,
  /** USD. */
  amount: v.number(),
  direction: vDirection,
  description: v.string(),
  /** 64 hex digits in lower case, with `0x` where the chain writes it; or a base58 signature. */
  txHash: v.optional(v.string()),
};

/** A moment that never comes. */
export const NEVER = Number.MAX_SAFE_INTEGER;

export type Reported = ObjectType<typeof reportedFields>;
export type AlertType = Infer<typeof vAlertType>;
export type Direction = Infer<typeof vDirection>;

export const whaleTables = {
  /**
   * One look for whales per hour: its prompt, its job, what came of them. Written by `whales/watches`; kept as the
   * record of what was asked and why an hour has no alerts.
   */
  whaleWatches: defineTable({
    /** Epoch ms of the hour's start; one row per hour. */
    hour: v.number(),
    /**
     * `claimed`: the prompt has not left. `prompting`: it may have left and is never sent again. `polling`: the agent
     * has the job `jobId`. `done` and `failed` are final.
     */
    state: v.union(
      v.literal("claimed"),
      v.literal("prompting"),
      v.literal("polling"),
      v.literal("done"),
      v.literal("failed"),
    ),
    startedAt: v.number(),
    /** While open: after this moment the step under way counts as lost. `NEVER` when final. */
    leaseUntil: v.number(),
    jobId: v.optional(v.string()),
    acceptedAt: v.optional(v.number()),
    /** Numbers the polls; a word from an overtaken one is ignored. */
    polls: v.number(),
    endedAt: v.optional(v.number()),
    /** For the operator: why it failed, or why an answer brought nothing. */
    note: v.optional(v.string()),
    /** The agent API takes no prompts before this moment. */
    pausedUntil: v.optional(v.number()),
    /** Of the alerts in the answer: how many were new, known already, and unusable. */
    counts: v.optional(v.object({ stored: v.number(), merged: v.number(), dropped: v.number() })),
  })
    .index("by_hour", ["hour"])
    .index("by_state_and_leaseUntil", ["state", "leaseUntil"]),

  /** Whale alerts. Written by `whales/model` (stored, merged, delivered) and `whales/checks` (verified). Kept. */
  whaleAlerts: defineTable({
    ...reportedFields,
    detectedAt: v.number(),
    /** The watch that brought it first. */
    watchId: v.id("whaleWatches"),
    messengerSent: v.boolean(),
    /** The chain has a successful transaction with this hash. */
    verified: v.boolean(),
    /** How often the chain was asked, and when it is next; `NEVER` when it is not. */
    checks: v.number(),
    checkAt: v.number(),
  })
    .index("by_detectedAt", ["detectedAt"])
    .index("by_token_and_alertType", ["token", "alertType", "detectedAt"])
    .index("by_txHash", ["txHash"])
    .index("by_watchId", ["watchId"])
    .index("by_checkAt", ["checkAt"]),
};
