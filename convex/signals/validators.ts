import { v } from "convex/values";

import { literals } from "../lib/literals";

/** Validators for the shapes in `signals/shapes`. A test compares both. */

const vResult = v.object({
  totalPnlPercent: v.number(),
  expectancyPercent: v.union(v.number(), v.null()),
  profitFactor: v.union(v.number(), v.null()),
});

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
