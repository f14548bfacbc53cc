import { v } from "convex/values";

import { literals } from "../lib/literals";

/** Validators for the shapes in `research/writing/prompts`. A test compares both. */

export const vReportText = v.object({
  fullAnalysis: v.string(),
  shortSummary: v.string(),
  marketOutlook: literals("bullish", "bearish", "neutral"),
  impacts: v.array(
    v.object({
      title: v.string(),
      detail: v.string(),
      sentiment: literals("bullish", "bearish", "neutral"),
      confidence: v.number(),
    }),
  ),
});

export const vSentiment = v.object({
  overall: v.string(),
  tokens: v.array(
    v.object({
      token: v.string(),
      sentiment: literals("bullish", "bearish", "neutral"),
      buzz: v.number(),
      narrative: v.string(),
    }),
  ),
});

export const vOnchainOutput = v.object({
  summary: v.string(),
  signals: v.array(
    v.object({
      token: v.string(),
      kind: literals("whale_movement", "unusual_volume", "smart_money"),
      direction: literals("bullish", "bearish", "neutral"),
      detail: v.string(),
    }),
  ),
});
