import { defineTable } from "convex/server";
import { v, type Infer } from "convex/values";
import type { Doc } from "../_generated/dataModel";
import { literals } from "../lib/literals";
import { indexCreatedBefore, indexOfUser, type RecordsOf } from "../platform/records";
import { vSwap } from "../wallets/tables";

/** A time of day such as `07:30` in a zone of the IANA database, and its days (0 is Sunday); every day without them. */
const vClock = { time: v.string(), timeZone: v.string(), days: v.optional(v.array(v.number())) };

/** The condition of an alert (`shapes` has its bounds). */
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
  v.object({ kind: v.literal("digest"), ...vClock }),
  /** Research on a coin, told when it has changed, or `always`. */
  v.object({ kind: v.literal("research"), token: v.string(), always: v.optional(v.boolean()), ...vClock }),
  /** Of standing orders alone: a time, on one day of the month if it is named; a call of the order's own address. */
  v.object({ kind: v.literal("clock"), dayOfMonth: v.optional(v.number()), ...vClock }),
  v.object({ kind: v.literal("call") }),
);
export type Condition = Infer<typeof vCondition>;
/** The conditions that a person can be alerted to; the others only trigger orders. */
export type AlertCondition = Exclude<Condition, { kind: "clock" | "call" }>;
export type TimedCondition = Extract<Condition, { timeZone: string }>;

/** The swap of a standing order, its authority and what is left of it. */
export const vStandingTerms = v.object({
  swap: vSwap,
  /** The credential that set it, under which each of its orders counts. */
  by: literals("owner", "key", "chat", "tap"),
  keyId: v.optional(v.id("keys")),
  /** The messenger account whose word it is. */
  messengerId: v.optional(v.string()),
  /** The account's mode when it was set: it orders in no other. */
  paper: v.optional(v.literal(true)),
  /** How often it was to fire, and how many firings are left; absent: no number was said. */
  times: v.optional(v.number()),
  timesLeft: v.optional(v.number()),
  /** How many firings were refused in a row. */
  refusals: v.number(),
  /** Epoch ms: the calls of the last day that fired it. */
  calls: v.optional(v.array(v.number())),
});
export type StandingTerms = Infer<typeof vStandingTerms>;

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
   * Users' alerts and standing orders. Written by `alerts/model`, `alerts/proposals` and `alerts/standing` (proposed,
   * confirmed, ended, moved to an account), `alerts/watch` (fired, expired), `alerts/due` (their next time, what was told)
   * and `alerts/outcomes` (what an order has come to). A proposal is deleted after a day, an ended one after 90 days. An
   * active alert fires when an observation of its subject crosses its level: the previous observation was on the other
   * side. Then it is quiet for an hour.
   */
  alerts: defineTable({
    userId: v.string(),
    condition: vCondition,
    /** Whether it ends at its first firing. */
    once: v.optional(v.boolean()),
    /** `proposed`: not confirmed by its user yet. */
    state: literals("proposed", "active", "off"),
    /**
     * The subject of its observations: `price:BTC`, `change:BTC:24`, `funding:ETH`, `flow:USDC:in`, `trade:ETH` (the price,
     * for an order), `clock:digest`, `clock:research`, `clock:clock` (orders), `call`.
     */
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
    /** How often it has fired; of a standing order, the firings with an outcome. */
    fired: v.number(),
    /** The swap of a standing order: with it, a firing is an order. */
    order: v.optional(vStandingTerms),
    /** SHA-256 of the token in the address that triggers it. */
    callHash: v.optional(v.string()),
    /** The key of the request that made it. */
    idempotencyKey: v.optional(v.string()),
    /** Why it has ended, half a sentence, where its user did not end it. */
    endReason: v.optional(v.string()),
    /** What the last research was when it was told. */
    told: v.optional(
      v.object({ outlook: v.string(), priceUsd: v.union(v.number(), v.null()), at: v.number() }),
    ),
  })
    .index("by_userId_and_state", ["userId", "state"])
    .index("by_level", ["state", "subject", "side", "level"])
    .index("by_readyAt", ["state", "subject", "readyAt"])
    .index("by_expiresAt", ["state", "expiresAt"])
    .index("by_callHash", ["callHash"])
    .index("by_userId_and_idempotencyKey", ["userId", "idempotencyKey"])
    .index("by_endedAt", ["state", "endedAt"]),

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

  /**
   * The firings of alerts, one for each observation. Written by `alerts/watch`, `alerts/outcomes` (what it came to), and
   * by `alerts/proposals` (moved). Deleted after 90 days.
   */
  alertFirings: defineTable({
    alertId: v.id("alerts"),
    userId: v.string(),
    observation: vObservation,
    /** The text of the message; of a standing order once it is told. */
    text: v.string(),
    /** Of a standing order: `due` until its outcome is told; its newest order, and why it was refused or missed. */
    outcome: v.optional(literals("due", "done", "refused", "missed")),
    orderId: v.optional(v.id("orders")),
    reason: v.optional(v.string()),
  })
    .index("by_alertId_and_observation", ["alertId", "observation.observedAt"])
    .index("by_userId", ["userId"]),
};

export type Alert = Doc<"alerts">;
export type Firing = Doc<"alertFirings">;
/** A row of `alerts` that orders a swap when it fires, instead of telling its user. */
export type StandingOrder = Alert & { order: StandingTerms };

export const alertRecords: RecordsOf<typeof alertTables> = {
  alerts: {
    keep: [
      {
        days: 1,
        why: "it was not confirmed",
        aged: (rows, before) =>
          rows.withIndex("by_endedAt", (q) =>
            q.eq("state", "proposed").eq("endedAt", undefined).lt("_creationTime", before),
          ),
      },
      {
        days: 90,
        why: "it was switched off, and anonymous callers could fill the disk with ended alerts",
        aged: (rows, before) =>
          rows.withIndex("by_endedAt", (q) => q.eq("state", "off").lt("endedAt", before)),
      },
    ],
    ownedBy: {
      rows: indexOfUser("by_userId_and_state"),
      section: "alerts",
      onDeletion: "go",
    },
    withheld: ["callHash"],
  },
  alertCursors: { keep: "a subject's row goes when it needs to be asked for, and has no active alert" },
  alertFirings: {
    keep: { days: 90, why: "a season's history; the card is kept for a month", aged: indexCreatedBefore },
    ownedBy: { rows: indexOfUser("by_userId"), section: "alertFirings", onDeletion: "go" },
  },
};
