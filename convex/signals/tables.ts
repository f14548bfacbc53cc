import { defineTable } from "convex/server";
import { v, type Infer } from "convex/values";
import { zodOutputToConvex } from "convex-helpers/server/zod4";
import { vPriceSource } from "../prices/tables";
import { vCalibrated } from "./calibration";
import { vComparison } from "./controls";
import { chainHead, signalEvent } from "./eventShapes";
import { vEnd, vOutcome } from "./path";
import { proposalShape } from "./prompts";
import { standing } from "./shapes";
import { totalsFields } from "./totals";
import { waiting, type RecordsOf } from "../lib/records";

export const vToken = v.union(v.literal("BTC"), v.literal("ETH"));
export const vSide = v.union(v.literal("BUY"), v.literal("SELL"), v.null());

/** The chain's events and its end, as they are published. */
export const vSignalEvent = zodOutputToConvex(signalEvent);
export const vHead = zodOutputToConvex(chainHead.nullable());

/** What the model proposes, checked. */
export const proposalFields = zodOutputToConvex(proposalShape).fields;

/** The measured price at which a signal is entered. */
export const vPriceAtIssue = v.object({
  usd: v.number(),
  source: vPriceSource,
  /** When the source observed it. */
  observedAt: v.number(),
});

/** What is known of any signal, the day's or a shadow, when it is issued. */
const issueFields = {
  ...proposalFields,
  generatedAt: v.number(),
  /** What answered, as the gateway names it. */
  model: v.string(),
  price: vPriceAtIssue,
  /** What getting in and out costs, in basis points of the stake. */
  costBps: v.number(),
};

const vStatus = v.union(v.literal("PENDING"), vEnd);

/** What becomes of it from then on. */
export const courseFields = {
  status: vStatus,
  expiresAt: v.number(),
  /** The stated confidence as outcomes before this signal calibrate it. */
  calibrated: vCalibrated,
  /** Until when the tracker knows the path (epoch ms), and the minutes before that which no candle covers. */
  walkedUntil: v.number(),
  gapMinutes: v.number(),
  ...vOutcome.omit("status", "gapMinutes").partial().fields,
};

export const vHeld = v.object({ ...issueFields, ...courseFields });
export type Held = Infer<typeof vHeld>;

const signalFields = {
  token: vToken,
  /** UTC, `2026-11-20`: one signal per token and day. */
  day: v.string(),
  ...vHeld.fields,
  promptVersion: v.string(),
  /** The sides of the control arms; `null` for HOLD, and where the price of a day ago was not known. */
  coin: vSide,
  momentum: vSide,
  /** Whether its controls are still to be told once it has expired. HOLD has none. */
  comparison: v.union(v.literal("due"), v.literal("done"), v.literal("none")),
  compared: v.optional(vComparison),
};

export const vSignal = v.object(signalFields);
export type Signal = Infer<typeof vSignal>;
export type Proposal = Pick<Signal, keyof typeof proposalFields>;

const vWeekSignal = vSignal
  .pick("signal", "entry", "confidence", "status")
  .extend({ pnlPercent: v.union(v.number(), v.null()) });

/** What a week came to, as it stood when its recap was opened. */
const weekFields = {
  /** By UTC day, Monday to Sunday. */
  days: v.record(
    v.string(),
    v.object({ BTC: v.union(vWeekSignal, v.null()), ETH: v.union(vWeekSignal, v.null()) }),
  ),
  ...zodOutputToConvex(standing).fields,
  averagePnlPercent: v.union(v.number(), v.null()),
  bestPnlPercent: v.union(v.number(), v.null()),
  worstPnlPercent: v.union(v.number(), v.null()),
};

export const vWeek = v.object(weekFields);
export type Week = Infer<typeof vWeek>;
export type WeekSignal = Infer<typeof vWeekSignal>;

export const signalTables = {
  /**
   * Trading signals. Written by `signals/issuing` when issued and by `signals/outcomes` when they end and are compared with
   * their controls, each time with an event. Kept as the track record.
   */
  signals: defineTable(signalFields)
    .index("by_token_and_day", ["token", "day"])
    .index("by_token", ["token", "generatedAt"])
    .index("by_generatedAt", ["generatedAt"])
    .index("by_status_and_token", ["status", "token", "generatedAt"])
    .index("by_comparison_and_token", ["comparison", "token", "generatedAt"]),

  /** The daily job's work, one row per token and day. Written by `signals/issuing`; kept. */
  signalRuns: defineTable({
    token: vToken,
    day: v.string(),
    /** `refused`: the model proposed nothing usable; `failed`: it, or a measured price, was out of reach for too long. */
    state: v.union(v.literal("writing"), v.literal("issued"), v.literal("refused"), v.literal("failed")),
    /** Which one is under way, or was the last. */
    attempt: v.number(),
    /** Its signal stands on a card already. */
    announced: v.boolean(),
    /** Why the last attempt came to nothing. */
    error: v.optional(v.string()),
  })
    .index("by_token_and_day", ["token", "day"])
    .index("by_state", ["state"]),

  /** For the operator: a day on which a token got no signal, and why. Written by `signals/issuing`; kept. */
  operatorNotes: defineTable({
    at: v.number(),
    /** What it is about: `signal BTC 2026-11-20`. */
    subject: v.string(),
    text: v.string(),
  }).index("by_at", ["at"]),

  /** The tamper-evident record, append-only. Written by `signals/model` in the mutation that makes the change. Kept. */
  signalEvents: defineTable(vSignalEvent)
    .index("by_sequence", ["sequence"])
    .index("by_kind", ["kind", "sequence"]),

  /** Days of which every signal has ended, one row a day: their trades are in the totals' arms. Written by `signals/days`. Kept. */
  signalDays: defineTable({ day: v.string() }).index("by_day", ["day"]),

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
    /** Which one is under way, or was the last. */
    attempt: v.number(),
    openedAt: v.number(),
    ...weekFields,
    /** `null`: the model was out of reach; absent while it is being written. */
    review: v.optional(v.union(v.string(), v.null())),
    model: v.optional(v.string()),
    generatedAt: v.optional(v.number()),
  })
    .index("by_week", ["week"])
    .index("by_state", ["state"]),
};

export const signalRecords: RecordsOf<typeof signalTables> = {
  signals: { keep: "the track record" },
  signalDays: { keep: "a row a day; it keeps a day from counting twice" },
  signalRuns: {
    keep: "two rows a day; they say why a day has no signal",
    openWhen: { signals: waiting("by_state", "state", ["writing"], "_creationTime") },
  },
  operatorNotes: { keep: "a row for each day without a signal" },
  signalEvents: { keep: "the tamper-evident record: it proves nothing with a gap" },
  signalTotals: { keep: "three rows" },
  signalReviews: { keep: "a row a day, part of the track record" },
  weeklyRecaps: {
    keep: "a row a week, part of the track record",
    openWhen: { weeklyRecaps: waiting("by_state", "state", ["writing"], "openedAt") },
  },
};
