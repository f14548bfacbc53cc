import { defineTable } from "convex/server";
import { v, type Infer } from "convex/values";
import type { RecordsOf } from "../lib/records";

/** Who tells a row's figures: one of the sources, or the model itself. */
export const vRowSource = v.union(
  v.literal("chainlink"),
  v.literal("coinbase"),
  v.literal("binance"),
  v.literal("coingecko"),
  v.literal("model"),
);

export const vCoin = v.object({
  name: v.string(),
  symbol: v.string(),
  /** 1 is first. */
  rank: v.number(),
  /** Percent over 24 hours. */
  change24h: v.number(),
  source: vRowSource,
});

const vKeyPrice = v.object({ usd: v.number(), usd_24h_change: v.number(), source: vRowSource });

export const vTokenFigures = v.object({
  symbol: v.string(),
  name: v.string(),
  /** USD. */
  price: v.number(),
  change24h: v.number(),
  marketCap: v.union(v.number(), v.null()),
  volume24h: v.union(v.number(), v.null()),
  /** Of price and change. */
  source: vRowSource,
  /** Of capitalisation and volume. */
  sizeSource: vRowSource,
});

export const vMarketFigures = v.object({
  keyPrices: v.object({ bitcoin: vKeyPrice, ethereum: vKeyPrice, solana: vKeyPrice }),
  trending: v.array(vCoin),
  top20: v.array(vTokenFigures.omit("volume24h").extend({ rank: v.number(), marketCap: v.number() })),
  /** The focus token's own figures; `null` when the model knows none, absent without a focus. */
  focus: v.optional(v.union(vTokenFigures, v.null())),
});

/** A source of prices that the figures were held against. */
export const vMarketSource = v.object({
  name: v.string(),
  /** ISO 8601: when the source saw its prices; the oldest of them. */
  asOf: v.string(),
  /**
   * How far the model's own price was from this source's, in basis points of the source's: the largest distance over the
   * coins the source knows, before any price was replaced.
   */
  agreementBps: v.number(),
});

export type RowSource = Infer<typeof vRowSource>;
export type TokenFigures = Infer<typeof vTokenFigures>;
/** A token's figures as the model gives them. */
export type AskedFigures = Omit<TokenFigures, "source" | "sizeSource">;
export type MarketSource = Infer<typeof vMarketSource>;
export type MarketFigures = Infer<typeof vMarketFigures>;

export const marketTables = {
  /** The latest market snapshot of each focus. Written by `market/snapshots`; replaced at each refresh. Dies a week after. */
  marketSnapshots: defineTable({
    /** Token symbol, or "" for the whole market. */
    focus: v.string(),
    fetchedAt: v.number(),
    model: v.string(),
    figures: vMarketFigures,
    sources: v.array(vMarketSource),
    /** How many of the model's prices were replaced by a source's. */
    replaced: v.number(),
  })
    .index("by_focus", ["focus"])
    .index("by_fetchedAt", ["fetchedAt"]),

  /** The latest answer to each token question. Written by `market/tokens`; replaced at each refresh. Dies a day after. */
  tokenAnswers: defineTable({
    /** SHA-256 of the question, lower-cased. */
    questionHash: v.string(),
    fetchedAt: v.number(),
    model: v.string(),
    token: v.union(vTokenFigures, v.null()),
    answer: v.string(),
    /** Whose the token's price is, `null` without a token. */
    priceSource: v.union(vRowSource, v.null()),
    /** Epoch ms: when the figures were seen. */
    figuresAt: v.number(),
  })
    .index("by_questionHash", ["questionHash"])
    .index("by_fetchedAt", ["fetchedAt"]),
};

export const marketRecords: RecordsOf<typeof marketTables> = {
  marketSnapshots: {
    keep: {
      days: 7,
      why: "a cache of a minute, which stands in for slowness; a week-old price stands for nothing",
      aged: (rows, before) => rows.withIndex("by_fetchedAt", (q) => q.lt("fetchedAt", before)),
    },
  },
  tokenAnswers: {
    keep: {
      days: 1,
      why: "a cache of a minute, one row for every question ever asked",
      aged: (rows, before) => rows.withIndex("by_fetchedAt", (q) => q.lt("fetchedAt", before)),
    },
  },
};
