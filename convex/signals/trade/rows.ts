import { v, type Infer } from "convex/values";

/** A trade's path and outcome in rows; `path` and `controls` compute them. */

const vDecider = v.union(v.literal("candle"), v.literal("sample"), v.literal("price"));
export type Decider = Infer<typeof vDecider>;

/** The price in [from, to]: a candle. A sample or a live price has no length. */
export const vStretch = v.object({
  from: v.number(),
  to: v.number(),
  open: v.number(),
  high: v.number(),
  low: v.number(),
  close: v.number(),
  by: vDecider,
});
export type Stretch = Infer<typeof vStretch>;

export const vEnd = v.union(v.literal("WIN"), v.literal("LOSS"), v.literal("EXPIRED"));

export const vOutcome = v.object({
  status: vEnd,
  /** USD: the level touched, or the price at expiry, never beyond a level; `null` if no price was known. */
  exitPrice: v.union(v.number(), v.null()),
  /** Signed by direction, before costs; `null` for HOLD and without an exit price. */
  pnlPercent: v.union(v.number(), v.null()),
  /** The touch, to the candle's minute, or the expiry. */
  closedAt: v.number(),
  /** The kind of price that decided; `null` if none did. */
  decidedBy: v.union(vDecider, v.null()),
  /** Whole minutes from the issue to the end that no candle covers. */
  gapMinutes: v.number(),
  /** A stop from a candle that may contain another order: the target before it, or the stop before the issue. */
  inDoubt: v.boolean(),
});
export type Outcome = Infer<typeof vOutcome>;

/** The outcomes of the trades that the model did not make. */
export const vComparison = v.object({
  mirrorStatus: vEnd,
  mirrorExitPrice: v.union(v.number(), v.null()),
  mirrorGapMinutes: v.number(),
  /** Absent on rows of earlier versions. */
  mirrorInDoubt: v.optional(v.boolean()),
  /** The price at expiry, for buying and holding; `null` if it was not known. */
  holdExitPrice: v.union(v.number(), v.null()),
  decidedBy: v.union(vDecider, v.null()),
});
export type Comparison = Infer<typeof vComparison>;
