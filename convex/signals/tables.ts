import { defineTable } from "convex/server";
import { v, type Infer } from "convex/values";
import { literals } from "../lib/literals";
import type { RecordsOf } from "../platform/records";
import { vPriceSource } from "../market/tables";
import { vRecord } from "./validators";

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

/** What is known when a signal is issued. */
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
  /** The measured price at which it is entered, and who measured it when. */
  price: v.object({ usd: v.number(), source: vPriceSource, observedAt: v.number() }),
  /** What getting in and out costs, in basis points of the stake. */
  costBps: v.number(),
});

/** What came of asking for a signal: why a token gets none, or the signal. */
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
  /** The transactions that put this event's hash on Base, where it was the head. */
  anchors: v.optional(v.array(v.id("orders"))),
});

const vMaybe = v.union(vSignal, v.null());

export const signalTables = {
  /** Trading signals, one a token and day. Written by `signals/model`, each change with an event. Kept. */
  signals: defineTable(vSignal)
    .index("by_day", ["day", "token"])
    .index("by_token", ["token", "generatedAt"])
    .index("by_generatedAt", ["generatedAt"])
    .index("by_status", ["status", "generatedAt"]),

  /**
   * The tamper-evident record, an append-only chain: a signal was issued, it was closed, or a token got none on a day.
   * Written by `signals/chain` in the mutation that makes the change; it notes the anchors, too. Kept.
   */
  signalEvents: defineTable(vSignalEvent)
    .index("by_sequence", ["sequence"])
    .index("by_day", ["day", "token"]),

  /**
   * A week's recap is written once, by `signals/history`; the record of all signals, one row, is computed anew whenever one
   * closes, by `signals/model`. Kept.
   */
  recaps: defineTable(
    v.union(
      v.object({
        period: v.literal("week"),
        /** Its Monday. */
        of: v.string(),
        /** By UTC day, Monday to Sunday; `null` where a token got none. */
        days: v.record(v.string(), v.object({ BTC: vMaybe, ETH: vMaybe })),
        /** A `Standing`. */
        results: v.record(v.string(), v.union(v.number(), v.null())),
        /** `null` if the model could not be reached. */
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
  recaps: { keep: "a row a week, part of the track record" },
};
