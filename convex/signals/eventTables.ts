import { v } from "convex/values";

/** The chain's events as the database holds them; `signals/eventChain` has the same shapes and says what they mean. */

const vSide = v.union(v.literal("BUY"), v.literal("SELL"));
const vStatus = v.union(v.literal("WIN"), v.literal("LOSS"), v.literal("EXPIRED"));
const vDecider = v.union(v.literal("candle"), v.literal("sample"), v.literal("price"), v.null());
const vPrice = v.union(v.number(), v.null());

/** What any signal says when it is issued, the day's or a shadow, and what closes it. */
export const issuedFields = {
  signal: v.union(vSide, v.literal("HOLD")),
  entry: v.number(),
  tp1: vPrice,
  tp2: vPrice,
  sl: vPrice,
  confidence: v.number(),
  calibratedConfidence: v.number(),
  calibrationMethod: v.union(v.literal("shrinkage"), v.literal("platt"), v.literal("isotonic")),
  calibrationOutcomes: v.number(),
  costBps: v.number(),
  generatedAt: v.string(),
  expiresAt: v.string(),
  priceSource: v.string(),
  priceObservedAt: v.string(),
};
export const closedFields = {
  status: vStatus,
  closedAt: v.string(),
  exitPrice: vPrice,
  pnlPercent: vPrice,
  decidedBy: vDecider,
};

const circumstances = {
  token: v.union(v.literal("BTC"), v.literal("ETH")),
  day: v.string(),
  model: v.union(v.string(), v.null()),
  promptVersion: v.string(),
  refusedDays: v.number(),
  gapMinutes: v.number(),
};

const vIssued = v.object({
  ...circumstances,
  ...issuedFields,
  timeframe: v.literal("1h"),
  coin: v.union(vSide, v.null()),
  momentum: v.union(vSide, v.null()),
  reasoning: v.string(),
});

const vClosed = v.object({ ...circumstances, ...closedFields });

const vCompared = v.object({
  ...circumstances,
  mirrorStatus: vStatus,
  mirrorExitPrice: vPrice,
  holdExitPrice: vPrice,
  decidedBy: vDecider,
});

const vRefused = v.object({
  ...circumstances,
  reason: v.union(v.literal("refused"), v.literal("failed")),
  at: v.string(),
});

const vPromoted = v.object({
  arm: v.string(),
  model: v.string(),
  promptVersion: v.string(),
  previousModel: v.string(),
  previousPromptVersion: v.string(),
  eValue: v.number(),
  days: v.number(),
  needed: v.number(),
  forced: v.union(v.string(), v.null()),
  at: v.string(),
});

const vShadow = v.object({ shadowSequence: v.number(), shadowHash: v.string(), at: v.string() });

export const vLinks = {
  sequence: v.number(),
  contentHash: v.string(),
  previousHash: v.string(),
  hash: v.string(),
};

export const vSignalEvent = v.union(
  v.object({ ...vLinks, kind: v.literal("issued"), content: vIssued }),
  v.object({ ...vLinks, kind: v.literal("closed"), content: vClosed }),
  v.object({ ...vLinks, kind: v.literal("compared"), content: vCompared }),
  v.object({ ...vLinks, kind: v.literal("refused"), content: vRefused }),
  v.object({ ...vLinks, kind: v.literal("promoted"), content: vPromoted }),
  v.object({ ...vLinks, kind: v.literal("shadow"), content: vShadow }),
);

export const vHead = v.union(v.object({ sequence: v.number(), hash: v.string() }), v.null());
