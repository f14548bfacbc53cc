import { defineTable } from "convex/server";
import { v, type Infer } from "convex/values";
import { vPriceSource } from "../prices/tables";
import { totalsFields } from "./totals";

export const vToken = v.union(v.literal("BTC"), v.literal("ETH"));
export const vDirection = v.union(v.literal("BUY"), v.literal("SELL"), v.literal("HOLD"));
const vStatus = v.union(v.literal("PENDING"), v.literal("WIN"), v.literal("LOSS"), v.literal("EXPIRED"));

const vLevel = v.union(v.number(), v.null());

/** What the model proposes, checked. */
export const proposalFields = {
  signal: vDirection,
  /** USD. */
  entry: v.number(),
  /** USD; `null` for HOLD. */
  tp1: vLevel,
  tp2: vLevel,
  sl: vLevel,
  /** 0 to 100. */
  confidence: v.number(),
  reasoning: v.string(),
};

/** The live price a signal was checked against. */
export const vPriceAtIssue = v.object({
  usd: v.number(),
  source: vPriceSource,
  /** When the source observed it. */
  observedAt: v.number(),
});

const signalFields = {
  token: vToken,
  /** UTC, `2026-11-20`: one signal per token and day. */
  day: v.string(),
  ...proposalFields,
  status: vStatus,
  generatedAt: v.number(),
  expiresAt: v.number(),
  model: v.string(),
  price: vPriceAtIssue,
  closedAt: v.optional(v.number()),
  /** USD; `null`: it expired and no price was in reach. */
  exitPrice: v.optional(v.union(v.number(), v.null())),
  /** Signed by direction; `null` for HOLD and without an exit price. */
  pnlPercent: v.optional(v.union(v.number(), v.null())),
};

export const vSignal = v.object(signalFields);
export type Signal = Infer<typeof vSignal>;
export type Proposal = Pick<Signal, keyof typeof proposalFields>;

const vIssued = v.object({
  token: vToken,
  day: v.string(),
  timeframe: v.literal("1h"),
  ...proposalFields,
  generatedAt: v.string(),
  expiresAt: v.string(),
  priceUsd: v.number(),
  priceSource: v.string(),
  priceObservedAt: v.string(),
});

const vClosed = v.object({
  token: vToken,
  day: v.string(),
  status: v.union(v.literal("WIN"), v.literal("LOSS"), v.literal("EXPIRED")),
  closedAt: v.string(),
  exitPrice: v.union(v.number(), v.null()),
  pnlPercent: v.union(v.number(), v.null()),
});

const links = { sequence: v.number(), contentHash: v.string(), previousHash: v.string(), hash: v.string() };

/** An event of the chain, as `signals/eventChain` makes and checks it. */
export const vSignalEvent = v.union(
  v.object({ ...links, kind: v.literal("issued"), content: vIssued }),
  v.object({ ...links, kind: v.literal("closed"), content: vClosed }),
);

export const vHead = v.union(v.object({ sequence: v.number(), hash: v.string() }), v.null());

/** How a period's signals ended. */
const recordFields = {
  wins: v.number(),
  losses: v.number(),
  expired: v.number(),
  pending: v.number(),
  /** 0 to 100; `null` when none was won or lost. */
  winrate: v.union(v.number(), v.null()),
  totalPnlPercent: v.number(),
};

const vWeekSignal = v.object({
  signal: vDirection,
  entry: v.number(),
  confidence: v.number(),
  status: vStatus,
  pnlPercent: v.union(v.number(), v.null()),
});

/** What a week came to, as it stood when its recap was opened. */
const weekFields = {
  /** By UTC day, Monday to Sunday. */
  days: v.record(
    v.string(),
    v.object({ BTC: v.union(vWeekSignal, v.null()), ETH: v.union(vWeekSignal, v.null()) }),
  ),
  ...recordFields,
  averagePnlPercent: v.union(v.number(), v.null()),
  bestPnlPercent: v.union(v.number(), v.null()),
  worstPnlPercent: v.union(v.number(), v.null()),
};

export const vWeek = v.object(weekFields);
export type Week = Infer<typeof vWeek>;
export type WeekSignal = Infer<typeof vWeekSignal>;

export const signalTables = {
  /**
   * Trading signals. Written by `signals/issuing` when issued and `signals/outcomes` when they end, each time with its
   * event. Kept as the track record.
   */
  signals: defineTable(signalFields)
    .index("by_token_and_day", ["token", "day"])
    .index("by_token", ["token", "generatedAt"])
    .index("by_generatedAt", ["generatedAt"])
    .index("by_status_and_token", ["status", "token", "generatedAt"]),

  /** The daily job's work, one row per token and day. Written by `signals/issuing`; kept. */
  signalRuns: defineTable({
    token: vToken,
    day: v.string(),
    /** `refused`: the model proposed nothing usable; `failed`: it, or a measured price, was out of reach for too long. */
    state: v.union(v.literal("writing"), v.literal("issued"), v.literal("refused"), v.literal("failed")),
    attempt: v.number(),
    /** While writing: after this moment the attempt, or its wait in the pool, counts as lost. */
    leaseUntil: v.number(),
    /** Its signal stands on a card already. */
    announced: v.boolean(),
    /** Why the last attempt came to nothing. */
    error: v.optional(v.string()),
  })
    .index("by_token_and_day", ["token", "day"])
    .index("by_state_and_leaseUntil", ["state", "leaseUntil"]),

  /** For the operator: a day on which a token got no signal, and why. Written by `signals/issuing`; kept. */
  operatorNotes: defineTable({
    at: v.number(),
    /** What it is about: `signal BTC 2026-11-20`. */
    subject: v.string(),
    text: v.string(),
  }).index("by_at", ["at"]),

  /** The tamper-evident record, append-only. Written by `signals/model` in the mutation that makes the change. Kept. */
  signalEvents: defineTable(vSignalEvent).index("by_sequence", ["sequence"]),

  /** What closed signals come to, one row per scope. Written in the mutation that closes a signal. Kept. */
  signalTotals: defineTable({
    scope: v.union(vToken, v.literal("ALL")),
    ...totalsFields,
  }).index("by_scope", ["scope"]),

  /** The AI's review of a day, one row per day, replaced when outcomes change. Written by `signals/reviews`. Kept. */
  signalReviews: defineTable({
    day: v.string(),
    /** The signals and outcomes it was written about. */
    outcomes: v.string(),
    review: v.string(),
    model: v.string(),
    writtenAt: v.number(),
  }).index("by_day", ["day"]),

  /** Recaps of weeks, one row per week. Written by `signals/weeks`; kept. */
  weeklyRecaps: defineTable({
    /** The week's Monday. */
    week: v.string(),
    state: v.union(v.literal("writing"), v.literal("done")),
    attempt: v.number(),
    leaseUntil: v.number(),
    openedAt: v.number(),
    ...weekFields,
    /** `null`: the model was out of reach; absent while it is being written. */
    review: v.optional(v.union(v.string(), v.null())),
    model: v.optional(v.string()),
    generatedAt: v.optional(v.number()),
  })
    .index("by_week", ["week"])
    .index("by_state_and_leaseUntil", ["state", "leaseUntil"]),
};
