import { defineSchema, defineTable } from "convex/server";
import { v } from "convex/values";

export default defineSchema({
  documents: defineTable({
    key: v.string(),
    coins: v.array(
      v.object({
        rank: v.number(),
        name: v.string(),
        symbol: v.string(),
        price: v.number(),
        change: v.number(),
      }),
    ),
  }).index("by_key", ["key"]),
});
