import { v } from "convex/values";

import { literals } from "../lib/literals";

/** What is stored of the shapes of `market/shapes`. Written by `npm run codegen`; a test holds both against one another. */

export const vRowSource = literals("chainlink", "coinbase", "coingecko", "model");

export const vCoin = v.object({
  name: v.string(),
  symbol: v.string(),
  rank: v.number(),
  change24h: v.number(),
  source: vRowSource,
});

export const vTokenFigures = v.object({
  symbol: v.string(),
  name: v.string(),
  price: v.number(),
  change24h: v.number(),
  marketCap: v.union(v.number(), v.null()),
  volume24h: v.union(v.number(), v.null()),
  source: vRowSource,
  sizeSource: vRowSource,
});

export const vMarketFigures = v.object({
  keyPrices: v.object({
    bitcoin: v.object({ usd: v.number(), usd_24h_change: v.number(), source: vRowSource }),
    ethereum: v.object({ usd: v.number(), usd_24h_change: v.number(), source: vRowSource }),
    solana: v.object({ usd: v.number(), usd_24h_change: v.number(), source: vRowSource }),
  }),
  trending: v.array(vCoin),
  top20: v.array(
    v.object({ ...vCoin.fields, price: v.number(), marketCap: v.number(), sizeSource: vRowSource }),
  ),
});

export const vMarketSource = v.object({ name: v.string(), asOf: v.string() });

export const vMarketSnapshot = v.object({
  ...vMarketFigures.fields,
  fetchedAt: v.string(),
  sources: v.array(vMarketSource),
});
