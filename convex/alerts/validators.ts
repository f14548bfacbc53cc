import { v } from "convex/values";

import { literals } from "../lib/literals";

/** What is stored of the shapes of `alerts/lines`. Written by `npm run codegen`; a test holds both against one another. */

export const vCondition = v.union(
  v.object({
    kind: v.literal("price"),
    token: v.string(),
    direction: literals("above", "below"),
    levelUsd: v.number(),
  }),
  v.object({
    kind: v.literal("change"),
    token: v.string(),
    direction: literals("up", "down"),
    percent: v.number(),
    windowHours: v.number(),
  }),
  v.object({
    kind: v.literal("funding"),
    token: literals("BTC", "ETH", "SOL"),
    direction: literals("above", "below"),
    percentPerHour: v.number(),
  }),
  v.object({
    kind: v.literal("flow"),
    token: literals("USDC", "USDT", "DAI", "ETH", "WETH", "CBBTC"),
    direction: literals("in", "out"),
    overUsd: v.number(),
  }),
  v.object({ kind: v.literal("digest"), time: v.string(), timeZone: v.string() }),
);
