import { defineTable } from "convex/server";
import { v, type Infer } from "convex/values";
import { literals } from "../lib/literals";
import { indexOlderThan, type RecordsOf } from "../platform/records";
import { listKeys } from "../lib/objects";

/** The collections of facts, with their public names. */
export const COLLECTIONS = {
  quotes: "live prices",
  markets: "the table of coins",
  trending: "the most searched coins",
  day: "last trades",
  book: "order book",
  candles: "hourly candles",
  perpetuals: "perpetual markets",
  news: "news",
  base: "the state of Base",
} as const;

const vCollector = v.union(...listKeys(COLLECTIONS).map((collector) => v.literal(collector)));
export type Collector = Infer<typeof vCollector>;

/** One collection: `subject` is "" for the whole market. */
export const vCollectionRequest = v.object({ collector: vCollector, subject: v.string() });
export type CollectionRequest = Infer<typeof vCollectionRequest>;

const vMissingCollection = vCollectionRequest.extend({ reason: v.string() });
export type MissingCollection = Infer<typeof vMissingCollection>;

/** The tokens whose prices are always recorded; other coins' prices are recorded on demand. */
export const vPricedToken = literals("BTC", "ETH");
export type PricedToken = Infer<typeof vPricedToken>;
export const PRICED_TOKENS = ["BTC", "ETH"] as const satisfies readonly PricedToken[];

/** Whether a coin's price is always sampled, also without somebody who asks for it. */
export function isAlwaysSampled(token: string): boolean {
  return PRICED_TOKENS.some((one) => one === token);
}

/** The most trusted first. */
export const PRICE_SOURCES = ["chainlink", "coinbase", "coingecko"] as const;
export const vPriceSource = literals(...PRICE_SOURCES);
export type PriceSource = Infer<typeof vPriceSource>;

/** The source of a row's figures, or the model. */
export const ROW_SOURCES = [...PRICE_SOURCES, "model"] as const;
export const vRowSource = literals(...ROW_SOURCES);

/** One of the trending coins, in the form of observations. */
export const vCoin = v.object({
  name: v.string(),
  symbol: v.string(),
  rank: v.number(),
  /** Percent. */
  change24h: v.number(),
  source: vRowSource,
});

export const vPrice = v.object({
  /** One of `vPricedToken`, or another coin's symbol. */
  token: v.string(),
  priceUsd: v.number(),
  source: vPriceSource,
  /** Epoch ms: when the source observed the price. */
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

export const marketTables = {
  /**
   * A collector's latest facts of each half hour, shared by all readers. Written by `market/facts`; a later collection
   * replaces the earlier one of the same half hour. Deleted after eight days.
   */
  facts: defineTable({
    /** Collector and subject: `day:BTC`. */
    key: v.string(),
    /** Epoch ms: the start of its half hour. */
    slot: v.number(),
    collectedAt: v.number(),
    /** JSON, deflated (`market/facts`). */
    facts: v.bytes(),
  })
    .index("by_key", ["key", "slot"])
    .index("by_slot", ["slot"]),

  /**
   * Live prices: one per token and tick of five minutes, and those requested in between; never two within a minute. A
   * newly requested coin also gets the closes of the hours before. Written by `market/samples`. Deleted after 15 days.
   */
  priceSamples: defineTable(vPrice)
    .index("by_token_and_takenAt", ["token", "takenAt"])
    .index("by_takenAt", ["takenAt"]),

  /**
   * The service's own hourly history: the last price in each UTC hour. An hour without a sample is missing, except on
   * the day before the first sample, which comes from an exchange. Written by `market/samples`. Kept.
   */
  hourlyCloses: defineTable({
    token: vPricedToken,
    /** Epoch ms: the full hour at its end. It includes the samples of the 60 minutes before, not one at this moment. */
    hourEndsAt: v.number(),
    priceUsd: v.number(),
    source: vPriceSource,
    /** Epoch ms. */
    takenAt: v.number(),
  }).index("by_token_and_hourEndsAt", ["token", "hourEndsAt"]),
};

export const marketRecords: RecordsOf<typeof marketTables> = {
  facts: {
    keep: {
      days: 8,
      why: "reports keep what they cite; comparisons go back a week",
      aged: indexOlderThan("slot"),
    },
  },
  priceSamples: {
    keep: { days: 15, why: "a week, and the week before it for comparison", aged: indexOlderThan("takenAt") },
  },
  hourlyCloses: { keep: "the service's own price history: two rows an hour" },
};
