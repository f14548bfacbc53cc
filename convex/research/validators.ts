import { v } from "convex/values";

import { literals } from "../lib/literals";

/** What is stored of the shapes of `research`. Written by `npm run codegen`; a test holds both against one another. */

const vOpenShift = v.object({
  jobId: v.string(),
  token: v.union(v.string(), v.null()),
  startedAt: v.string(),
  stopsAt: v.string(),
});

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
      amountUsd: v.union(v.number(), v.null()),
    }),
  ),
});

export const vShiftStatus = v.object({
  activeJob: v.union(
    v.object({
      ...vOpenShift.fields,
      status: v.string(),
      interimReportsCount: v.number(),
      finalReportSent: v.boolean(),
      collectionsCount: v.number(),
      lastCollection: v.union(
        v.object({ at: v.string(), failed: v.array(v.object({ source: v.string(), error: v.string() })) }),
        v.null(),
      ),
    }),
    v.null(),
  ),
  lastJob: v.union(
    v.object({
      ...vOpenShift.fields,
      status: literals("completed", "stopped"),
      endedAt: v.string(),
      interimReportsCount: v.number(),
      finalReportSent: v.boolean(),
      collectionsCount: v.number(),
      error: v.union(v.string(), v.null()),
    }),
    v.null(),
  ),
  activeJobs: v.array(vOpenShift),
  deliveryProblem: v.union(v.string(), v.null()),
  recentReports: v.array(
    v.object({
      type: literals("interim", "final"),
      generatedAt: v.string(),
      outlook: v.string(),
      summary: v.string(),
      messengerSent: v.boolean(),
      deliveryProblem: v.optional(v.string()),
    }),
  ),
});
