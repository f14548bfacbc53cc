import { defineTable } from "convex/server";
import { v, type Infer } from "convex/values";
import { older, type RecordsOf } from "../lib/records/records";
import { vTokenFigures, vRowSource, type vMarketFigures, type vMarketSource } from "./validators";

/** The source of a row's figures, or the model. */
export type RowSource = Infer<typeof vRowSource>;
export type MarketSource = Infer<typeof vMarketSource>;
export type MarketFigures = Infer<typeof vMarketFigures>;

export const marketTables = {
  /** The latest market snapshot of each focus. Written by `market/snapshots`; replaced at each refresh. Dies a week after. */
  marketSnapshots: defineTable({
    /** Token symbol, or "" for the whole market. */
    focus: v.string(),
    fetchedAt: v.number(),
    model: v.string(),
    /** The answer of `GET /mcp/market`, in JSON (`market/bodies`). */
    body: v.string(),
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
    /** The source of the token's price, `null` without a token. */
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
      why: "a cache of a minute, used longer when refreshes are slow; a week-old price is worthless",
      aged: older("fetchedAt"),
    },
  },
  tokenAnswers: {
    keep: {
      days: 1,
      why: "a cache of a minute, one row for every question ever asked",
      aged: older("fetchedAt"),
    },
  },
};
