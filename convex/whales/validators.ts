import { v } from "convex/values";

import { literals } from "../lib/literals";

/** What is stored of the shapes of `whales/shapes`. Written by `npm run codegen`; a test holds both against one another. */

const vEnd = v.object({
  address: v.string(),
  label: v.optional(v.object({ exchange: v.string(), source: v.string() })),
});

export const vMovement = v.object({
  from: vEnd,
  to: vEnd,
  quantity: v.string(),
  position: v.number(),
  blockNumber: v.number(),
  blockHash: v.string(),
  price: v.object({ usd: v.number(), source: v.string(), observedAt: v.number() }),
});

export const vPublicAlert = v.object({
  token: v.string(),
  alertType: literals("cex_inflow", "cex_outflow", "large_transfer", "smart_money"),
  amount: v.number(),
  direction: literals("bullish", "bearish", "neutral"),
  description: v.string(),
  source: literals("measured", "agent-reported"),
  chain: v.optional(v.string()),
  occurredAt: v.optional(v.number()),
  detectedAt: v.number(),
  messengerSent: v.boolean(),
  txHash: v.optional(v.string()),
  verified: v.boolean(),
  movement: v.optional(vMovement),
});
