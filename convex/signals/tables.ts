import { defineTable } from "convex/server";
import { v, type Infer } from "convex/values";
import { literals } from "../lib/literals";
import type { RecordsOf } from "../platform/records";
import { vPriceSource } from "../market/tables";

export const vToken = literals("BTC", "ETH");

export const vSignalOutcome = v.object({
  status: literals("WIN", "LOSS", "EXPIRED"),
  /** USD: the level touched, or the price at expiry, never beyond a level; `null` if no price was known. */
  exitPrice: v.union(v.number(), v.null()),
  /** Signed by direction, before costs; `null` for HOLD and without an exit price. */
  pnlPercent: v.union(v.number(), v.null()),
  /** The touch, to the candle's minute, or the expiry. */
  closedAt: v.number(),
  /** Minutes from the issue to the end that no candle covers. */
  gapMinutes: v.number(),
});
export type SignalOutcome = Infer<typeof vSignalOutcome>;

/** The content of a signal at its issue. */
export const vIssue = v.object({
  token: vToken,
  signal: literals("BUY", "SELL", "HOLD"),
  /** USD: the measured price at issue. */
  entry: v.number(),
  tp1: v.union(v.number(), v.null()),
  tp2: v.union(v.number(), v.null()),
  sl: v.union(v.number(), v.null()),
  /** Whole percent, as the model stated it. */
  confidence: v.number(),
  reasoning: v.string(),
  /** The model that answered, as the gateway names it. */
  model: v.string(),
  promptVersion: v.string(),
  /** The measured price of the entry, with its source and time. */
  price: v.object({ usd: v.number(), source: vPriceSource, observedAt: v.number() }),
  /** The costs of entry and exit, in basis points of the stake. */
  costBps: v.number(),
});

/** The result of a request for a signal: the signal, or the reason why the token gets none. */
export const vAnswer = v.union(vIssue, v.object({ token: vToken, refused: v.string() }));

const vIssued = vIssue.extend({
  /** UTC, `2026-11-20`. */
  day: v.string(),
  generatedAt: v.number(),
  expiresAt: v.number(),
});
export type Issued = Infer<typeof vIssued>;

export const vSignal = vIssued.extend({
  status: v.union(v.literal("PENDING"), vSignalOutcome.fields.status),
  ...vSignalOutcome.omit("status").partial().fields,
});
export type Signal = Infer<typeof vSignal>;

export const vHead = v.object({ sequence: v.number(), hash: v.string() });
export type Head = Infer<typeof vHead>;

export const vSignalEvent = vHead.extend({
  kind: literals("issued", "closed", "none"),
  token: vToken,
  day: v.string(),
  /** Canonical JSON of a flat object. */
  content: v.string(),
  contentHash: v.string(),
  previousHash: v.string(),
  /** The transactions that put this event's hash on Base while it was the head. */
  anchors: v.optional(v.array(v.id("orders"))),
});

const vResult = v.object({
  totalPnlPercent: v.number(),
  expectancyPercent: v.union(v.number(), v.null()),
  profitFactor: v.union(v.number(), v.null()),
});

/** The record of a token, or of all: `tests/validators` compares it with `signalStats`. */
export const vRecord = v.object({
  summary: v.string(),
  n: v.number(),
  wins: v.number(),
  losses: v.number(),
  expired: v.number(),
  holds: v.number(),
  missingDays: v.number(),
  gaps: v.number(),
  winrate: v.union(v.number(), v.null()),
  trades: v.number(),
  beforeCosts: vResult,
  afterCosts: vResult,
  buyAndHoldPercent: v.union(v.number(), v.null()),
  risk: v.object({
    sharpe: v.union(v.number(), v.null()),
    sortino: v.union(v.number(), v.null()),
    maxDrawdownPercent: v.union(v.number(), v.null()),
  }),
  edge: v.object({
    days: v.number(),
    excessPoints: v.union(v.number(), v.null()),
    afterCostsPoints: v.union(v.number(), v.null()),
    lowPoints: v.number(),
    highPoints: v.number(),
    verdict: literals("no record yet", "better than chance", "worse than chance", "not told from chance"),
  }),
  reliability: v.object({
    says: v.union(v.string(), v.null()),
    bins: v.array(
      v.object({ from: v.number(), to: v.number(), n: v.number(), winrate: v.union(v.number(), v.null()) }),
    ),
  }),
});

const vMaybe = v.union(vSignal, v.null());

export const signalTables = {
  /** Trading signals, one a token and day. Written by `signals/model`, each change together with its event. Kept. */
  signals: defineTable(vSignal)
    .index("by_day", ["day", "token"])
    .index("by_token", ["token", "generatedAt"])
    .index("by_generatedAt", ["generatedAt"])
    .index("by_status", ["status", "generatedAt"]),

  /**
   * The tamper-evident record, an append-only chain of events: a signal was issued, was closed, or was missing on a day.
   * Written by `signals/chain` in the mutation of the change; its anchors are added later. Kept.
   */
  signalEvents: defineTable(vSignalEvent)
    .index("by_sequence", ["sequence"])
    .index("by_day", ["day", "token"]),

  /**
   * Results by period: a week's recap, written once by `signals/history`, and those of all time, which `signals/model`
   * computes anew whenever a signal closes. Both are functions of the signals. Kept.
   */
  signalSummaries: defineTable(
    v.union(
      v.object({
        period: v.literal("week"),
        /** The Monday of the week. */
        of: v.string(),
        /** By UTC day, Monday to Sunday; `null` for a token without a signal. */
        days: v.record(v.string(), v.object({ BTC: vMaybe, ETH: vMaybe })),
        /** The week's `SignalTotals`. */
        results: v.record(v.string(), v.union(v.number(), v.null())),
        /** `null` if the model was unreachable. */
        review: v.union(v.string(), v.null()),
        model: v.union(v.string(), v.null()),
        generatedAt: v.number(),
      }),
      v.object({
        period: v.literal("all"),
        of: v.literal("ALL"),
        records: v.object({ ALL: vRecord, BTC: vRecord, ETH: vRecord }),
        generatedAt: v.number(),
      }),
    ),
  ).index("by_period", ["period", "of"]),
};

export const signalRecords: RecordsOf<typeof signalTables> = {
  signals: { keep: "two rows a day: the track record" },
  signalEvents: { keep: "the tamper-evident record: with a gap it proves nothing" },
  signalSummaries: { keep: "a row a week and one of all time, part of the track record" },
};
