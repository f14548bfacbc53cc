import { v } from "convex/values";

import { literals } from "../lib/literals";

/** What is stored of the shapes of `signals`. Written by `npm run codegen`; a test holds both against one another. */

const vLink = v.object({
  sequence: v.number(),
  contentHash: v.string(),
  previousHash: v.string(),
  hash: v.string(),
});

const vCircumstances = v.object({
  token: literals("BTC", "ETH"),
  day: v.string(),
  model: v.union(v.string(), v.null()),
  promptVersion: v.string(),
  refusedDays: v.number(),
  gapMinutes: v.number(),
});

const vShadowSlot = v.object({ arm: v.string(), token: literals("BTC", "ETH", "SOL"), hour: v.string() });

const vLevels = v.object({
  signal: literals("BUY", "SELL", "HOLD"),
  entry: v.number(),
  tp1: v.union(v.number(), v.null()),
  tp2: v.union(v.number(), v.null()),
  sl: v.union(v.number(), v.null()),
  confidence: v.number(),
});

const vIssue = v.object({
  ...vLevels.fields,
  calibratedConfidence: v.number(),
  calibrationMethod: literals("shrinkage", "offset", "platt", "isotonic"),
  calibrationOutcomes: v.number(),
  costBps: v.number(),
  generatedAt: v.string(),
  expiresAt: v.string(),
  priceSource: v.string(),
  priceObservedAt: v.string(),
});

const vEnding = v.object({
  status: literals("WIN", "LOSS", "EXPIRED"),
  closedAt: v.string(),
  exitPrice: v.union(v.number(), v.null()),
  pnlPercent: v.union(v.number(), v.null()),
  decidedBy: v.union(literals("candle", "sample", "price"), v.null()),
  inDoubt: v.optional(v.boolean()),
});

const vIssued = v.object({
  ...vIssue.fields,
  ...vCircumstances.fields,
  timeframe: v.literal("1h"),
  volatility: v.optional(v.union(v.number(), v.null())),
  coin: v.union(literals("BUY", "SELL"), v.null()),
  momentum: v.union(literals("BUY", "SELL"), v.null()),
  reasoning: v.string(),
});

const vClosed = v.object({ ...vCircumstances.fields, ...vEnding.fields });

const vCompared = v.object({
  ...vCircumstances.fields,
  mirrorStatus: literals("WIN", "LOSS", "EXPIRED"),
  mirrorExitPrice: v.union(v.number(), v.null()),
  mirrorInDoubt: v.optional(v.boolean()),
  holdExitPrice: v.union(v.number(), v.null()),
  decidedBy: v.union(literals("candle", "sample", "price"), v.null()),
});

export const vProposal = v.object({ ...vLevels.fields, reasoning: v.string() });

export const vPromoted = v.object({
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

export const vStanding = v.object({
  wins: v.number(),
  losses: v.number(),
  expired: v.number(),
  pending: v.number(),
  winrate: v.union(v.number(), v.null()),
  trades: v.number(),
  totalPnlPercent: v.number(),
  totalAfterCostsPercent: v.number(),
  excessPoints: v.number(),
});

export const vSignalEvent = v.union(
  v.object({ ...vLink.fields, kind: v.literal("issued"), content: vIssued }),
  v.object({ ...vLink.fields, kind: v.literal("closed"), content: vClosed }),
  v.object({ ...vLink.fields, kind: v.literal("compared"), content: vCompared }),
  v.object({
    ...vLink.fields,
    kind: v.literal("refused"),
    content: v.object({ ...vCircumstances.fields, reason: literals("refused", "failed"), at: v.string() }),
  }),
  v.object({ ...vLink.fields, kind: v.literal("promoted"), content: vPromoted }),
  v.object({
    ...vLink.fields,
    kind: v.literal("shadow"),
    content: v.object({ shadowSequence: v.number(), shadowHash: v.string(), at: v.string() }),
  }),
  v.object({
    ...vLink.fields,
    kind: v.literal("people"),
    content: v.object({ peopleSequence: v.number(), peopleHash: v.string(), at: v.string() }),
  }),
  v.object({
    ...vLink.fields,
    kind: v.literal("changed"),
    content: v.object({ model: v.string(), promptVersion: v.string(), costBps: v.number(), at: v.string() }),
  }),
  v.object({
    ...vLink.fields,
    kind: v.literal("restored"),
    content: v.object({ reason: v.string(), at: v.string() }),
  }),
);

export const vShadowEvent = v.union(
  v.object({
    ...vLink.fields,
    kind: v.literal("issued"),
    content: v.object({
      ...vIssue.fields,
      ...vShadowSlot.fields,
      model: v.string(),
      promptVersion: v.string(),
    }),
  }),
  v.object({
    ...vLink.fields,
    kind: v.literal("closed"),
    content: v.object({ ...vEnding.fields, ...vShadowSlot.fields, gapMinutes: v.number() }),
  }),
  v.object({
    ...vLink.fields,
    kind: v.literal("missed"),
    content: v.object({
      ...vShadowSlot.fields,
      reason: literals("refused", "failed", "budget"),
      at: v.string(),
    }),
  }),
);

export const vPersonEvent = v.union(
  v.object({
    ...vLink.fields,
    kind: v.literal("begun"),
    content: v.object({ arm: v.string(), number: v.number(), at: v.string() }),
  }),
  v.object({
    ...vLink.fields,
    kind: v.literal("issued"),
    content: v.object({ ...vIssued.fields, arm: v.string() }),
  }),
  v.object({
    ...vLink.fields,
    kind: v.literal("closed"),
    content: v.object({ ...vClosed.fields, arm: v.string() }),
  }),
  v.object({
    ...vLink.fields,
    kind: v.literal("compared"),
    content: v.object({ ...vCompared.fields, arm: v.string() }),
  }),
);

export const vHead = v.union(v.object({ sequence: v.number(), hash: v.string() }), v.null());

export const vAnchor = v.object({
  nonce: v.number(),
  sequence: v.union(v.number(), v.null()),
  hash: v.union(v.string(), v.null()),
  txHashes: v.array(v.string()),
  status: literals("pending", "confirmed", "failed"),
  signedAt: v.string(),
});

export const vOwnArm = v.object({
  arm: v.string(),
  name: v.union(v.string(), v.null()),
  nameState: literals("waiting", "shown", "refused"),
  number: v.number(),
  of: v.number(),
  since: v.string(),
  endedAt: v.union(v.string(), v.null()),
  left: v.boolean(),
  listed: v.boolean(),
  needed: v.number(),
});
