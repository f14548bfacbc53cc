import { v } from "convex/values";

import { literals } from "../lib/literals";

/** What is stored of the shapes of `social/posts/prompts`. Written by `npm run codegen`; a test holds both against one another. */

export const vIntent = v.object({
  action: literals("buy", "sell", "swap", "send", "unknown"),
  fromToken: v.union(literals("ETH", "USDC", "USDT", "DAI", "WETH"), v.null()),
  toToken: v.union(literals("ETH", "USDC", "USDT", "DAI", "WETH"), v.null()),
  amount: v.union(v.string(), v.null()),
  unit: v.union(literals("ETH", "USDC", "USDT", "DAI", "WETH", "USD"), v.null()),
  recipient: v.union(v.string(), v.null()),
  confidence: v.number(),
});
