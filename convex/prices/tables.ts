import { defineTable } from "convex/server";
import { v, type Infer } from "convex/values";
import { older, type RecordsOf } from "../lib/records/records";

/** The tokens whose prices are always recorded; other coins' prices are recorded while somebody needs them. */
export const vPricedToken = v.union(v.literal("BTC"), v.literal("ETH"));
export type PricedToken = Infer<typeof vPricedToken>;
export const PRICED_TOKENS = ["BTC", "ETH"] as const satisfies readonly PricedToken[];

/** `llm`: the model's market data, if no better source answered. Never used for limits, never fires an alert. */
export const vPriceSource = v.union(
  v.literal("chainlink"),
  v.literal("coinbase"),
  v.literal("binance"),
  v.literal("coingecko"),
  v.literal("llm"),
);
export type PriceSource = Infer<typeof vPriceSource>;

export const vPrice = v.object({
  /** One of the above, or another coin's symbol. */
  token: v.string(),
  priceUsd: v.number(),
  source: vPriceSource,
  /** Epoch ms: when the source saw the price. */
  observedAt: v.number(),
  /** Epoch ms: when the service stored it. */
  takenAt: v.number(),
});
export type Price = Infer<typeof vPrice>;

/** The last price of an hour. */
export const vClose = v.object({
  /** Epoch ms, a full hour. */
  hourEndsAt: v.number(),
  priceUsd: v.number(),
  source: vPriceSource,
});
export type HourlyClose = Infer<typeof vClose>;

export const priceTables = {
  /**
   * Live prices: one per token and tick of five minutes, and those requested in between; never two within a minute. For
   * a newly requested coin also the closes of the hours before. Written by `prices/samples`. Dies after 15 days.
   */
  priceSamples: defineTable(vPrice)
    .index("by_token_and_takenAt", ["token", "takenAt"])
    .index("by_takenAt", ["takenAt"]),

  /**
   * The service's own hourly history: the last price taken in each UTC hour; an hour without a sample has none.
   * Written by `prices/samples` with each sample. Kept.
   */
  hourlyCloses: defineTable({
    token: vPricedToken,
    /** Epoch ms: the full hour that ends it. It includes the samples of the 60 minutes before, not one at this moment. */
    hourEndsAt: v.number(),
    priceUsd: v.number(),
    source: vPriceSource,
    /** Epoch ms. */
    takenAt: v.number(),
  }).index("by_token_and_hourEndsAt", ["token", "hourEndsAt"]),
};

export const priceRecords: RecordsOf<typeof priceTables> = {
  priceSamples: {
    keep: {
      days: 15,
      why: "a week, and the week before it for comparison",
      aged: older("takenAt"),
    },
  },
  hourlyCloses: { keep: "the service's own price history: two rows an hour" },
};
