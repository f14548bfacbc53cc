import { internalMutationGeneric, internalQueryGeneric } from "convex/server";

const KEY = "stored";
/** As many as a market snapshot has: ten trending and the twenty largest. */
const COINS = 30;

export const store = internalMutationGeneric({
  args: {},
  handler: async (ctx) => {
    const coins = Array.from({ length: COINS }, (_, index) => {
      return {
        rank: index + 1,
        name: `Coin number ${index}`,
        symbol: `C${index}`,
        price: 1.5 * index,
        change: 0.5,
      };
    });
    await ctx.db.insert("documents", { key: KEY, coins });
  },
});

export const stored = internalQueryGeneric({
  args: {},
  handler: (ctx) =>
    ctx.db
      .query("documents")
      .withIndex("by_key", (q) => q.eq("key", KEY))
      .unique(),
});
