import { v } from "convex/values";
import { internal } from "../_generated/api";
import { deadlines } from "../lib/outside/deadlines";
import { messageOf } from "../lib/errors";
import { log } from "../lib/log";
import { providerAction } from "../lib/outside/providerCalls";
import { unlessLate } from "../lib/time";
import { askTicker, QUOTED, TICKERS } from "../providers/data/tickers";
import { askFeeds } from "./sources";
import type { QuoteSource } from "./tables";

/** Where the sources of prices are asked, all of them at once. */

/** Asks every source at once; who does not answer in time is left out. */
export const refresh = providerAction({
  args: { attempt: v.number() },
  returns: v.null(),
  handler: async (ctx, { attempt }) => {
    const end = AbortSignal.timeout(deadlines.grounding);
    const asked = (["chainlink", ...TICKERS] as const).map(async (name): Promise<QuoteSource[]> => {
      try {
        const asking =
          name === "chainlink" ? askFeeds(deadlines.grounding) : askTicker(name, QUOTED, deadlines.grounding);
        // One that keeps no deadline of its own must not cost what the others said.
        const quotes = await unlessLate(asking, end, () => new Error("It did not answer in time"));
        const known = QUOTED.flatMap((symbol) => {
          const quote = quotes[symbol];
          return quote === undefined ? [] : [{ symbol, ...quote }];
        });
        return [{ name, quotes: known }];
      } catch (error) {
        log.warn("prices.source failed", { source: name, reason: messageOf(error) });
        return [];
      }
    });
    const sources = (await Promise.all(asked)).flat();
    await ctx.runMutation(internal.prices.quotes.store, { attempt, sources });
    return null;
  },
});
