import { v } from "convex/values";
import { vLinks } from "../eventTables";

/** The events of shadow signals as the database holds them; `signals/lab/eventShapes` has the same shapes and says what they mean. */

const vLevel = v.union(v.number(), v.null());

const slot = {
  arm: v.string(),
  token: v.union(v.literal("BTC"), v.literal("ETH"), v.literal("SOL")),
  hour: v.string(),
};

const vIssued = v.object({
  ...slot,
  model: v.string(),
  promptVersion: v.string(),
  signal: v.union(v.literal("BUY"), v.literal("SELL"), v.literal("HOLD")),
  entry: v.number(),
  tp1: vLevel,
  tp2: vLevel,
  sl: vLevel,
  confidence: v.number(),
  calibratedConfidence: v.number(),
  calibrationMethod: v.union(v.literal("shrinkage"), v.literal("platt"), v.literal("isotonic")),
  calibrationOutcomes: v.number(),
  costBps: v.number(),
  generatedAt: v.string(),
  expiresAt: v.string(),
  priceSource: v.string(),
  priceObservedAt: v.string(),
});

const vClosed = v.object({
  ...slot,
  status: v.union(v.literal("WIN"), v.literal("LOSS"), v.literal("EXPIRED")),
  closedAt: v.string(),
  exitPrice: vLevel,
  pnlPercent: vLevel,
  decidedBy: v.union(v.literal("candle"), v.literal("sample"), v.literal("price"), v.null()),
  gapMinutes: v.number(),
});

const vMissed = v.object({
  ...slot,
  reason: v.union(v.literal("refused"), v.literal("failed"), v.literal("budget")),
  at: v.string(),
});

export const vShadowEvent = v.union(
  v.object({ ...vLinks, kind: v.literal("issued"), content: vIssued }),
  v.object({ ...vLinks, kind: v.literal("closed"), content: vClosed }),
  v.object({ ...vLinks, kind: v.literal("missed"), content: vMissed }),
);
