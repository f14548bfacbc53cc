import { defineTable } from "convex/server";
import { v, type Infer } from "convex/values";
import { zodOutputToConvex } from "convex-helpers/server/zod4";
import type { RecordsOf } from "../lib/records";
import { change, citedSource } from "./shapes";

/** What a fact is about. `kinds.ts` says how each is worded and in what unit it is. */
const vKind = v.union(
  v.literal("name"),
  v.literal("rank"),
  v.literal("price"),
  v.literal("change24h"),
  v.literal("marketCap"),
  v.literal("volume24h"),
  v.literal("rising"),
  v.literal("trendingPlace"),
  v.literal("trendingChange"),
  v.literal("lastTrade"),
  v.literal("dayChange"),
  v.literal("dayHigh"),
  v.literal("dayLow"),
  v.literal("dayVolume"),
  v.literal("bidDepth"),
  v.literal("askDepth"),
  v.literal("spread"),
  v.literal("high48h"),
  v.literal("low48h"),
  v.literal("funding"),
  v.literal("openInterest"),
  v.literal("stablecoinSupply"),
  v.literal("stablecoinWeek"),
  v.literal("blockTransactions"),
  v.literal("baseFee"),
  v.literal("usdcSupply"),
  v.literal("headline"),
);

/** Something that the service observed: who said what about whom, and when. */
export const vFact = v.object({
  /** A symbol, or what else it is about: `market`, `Base`, `news`. */
  subject: v.string(),
  kind: vKind,
  value: v.union(v.number(), v.string()),
  unit: v.union(
    v.literal("USD"),
    v.literal("percent"),
    v.literal("coins"),
    v.literal("count"),
    v.literal("bps"),
    v.literal("gwei"),
    v.literal("text"),
  ),
  /** Epoch ms: when the source saw it, or was asked where it does not say. */
  observedAt: v.number(),
  /** The source's name as readers know it. */
  source: v.string(),
  /** Where anybody can see the like. */
  url: v.string(),
});

export const vCollector = v.union(
  v.literal("markets"),
  v.literal("trending"),
  v.literal("day"),
  v.literal("book"),
  v.literal("candles"),
  v.literal("perpetuals"),
  v.literal("stablecoins"),
  v.literal("news"),
  v.literal("base"),
);

/** One thing that a collector collects: `subject` is "" where it collects for everybody. */
export const vWanted = v.object({ collector: vCollector, subject: v.string() });

export const vMissing = v.object({ collector: vCollector, subject: v.string(), reason: v.string() });

export const vChange = zodOutputToConvex(change);
export const vCitedSource = zodOutputToConvex(citedSource);

export type Fact = Infer<typeof vFact>;
export type Kind = Infer<typeof vKind>;
export type Collector = Infer<typeof vCollector>;
export type Wanted = Infer<typeof vWanted>;
export type Missing = Infer<typeof vMissing>;

export const evidenceTables = {
  /**
   * What a collector last observed in each half hour, shared by whoever needs it. Written by `evidence/collecting`; a
   * later collection of the same half hour takes the place of the earlier one. Dies after eight days.
   */
  facts: defineTable({
    /** Collector and subject: `day:BTC`. */
    key: v.string(),
    /** Epoch ms: where its half hour begins. */
    slot: v.number(),
    collectedAt: v.number(),
    facts: v.array(vFact),
  })
    .index("by_key", ["key", "slot"])
    .index("by_slot", ["slot"]),
};

export const evidenceRecords: RecordsOf<typeof evidenceTables> = {
  facts: {
    keep: {
      days: 8,
      why: "reports keep what they cite; a report of a week ago is compared with",
      // The largest, of fifty coins, have some 60 kB.
      batch: 50,
      aged: (rows, before) => rows.withIndex("by_slot", (q) => q.lt("slot", before)),
    },
  },
};
