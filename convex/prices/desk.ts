import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { deadlines } from "../lib/outside/deadlines";
import { messageOf } from "../lib/errors";
import { log } from "../lib/log";
import { awaitRefresh } from "../lib/refreshes";
import { SECOND, unlessLate } from "../lib/time";
import { askTicker, QUOTED, TICKERS } from "../providers/data/tickers";
import { askFeeds } from "./sources";
import type { QuoteSource } from "./tables";

/** Asks all sources of prices in parallel. */

/** How long asking takes in addition to the sources' own deadline. */
const MARGIN_MS = 2 * SECOND;

/**
 * The prices of all reachable sources, at most 60 s old, most trusted first: the feeds, Coinbase, Binance, CoinGecko.
 * Empty if none can be reached; the caller continues without them. One caller asks them, and the others wait for it.
 * Never throws for a source's failure. For actions that run on without their callers.
 */
export async function freshQuotes(ctx: ActionCtx): Promise<QuoteSource[]> {
  const begun = await ctx.runMutation(internal.prices.quotes.begin, {});
  if ("young" in begun) return begun.young;
  if (begun.isNew === true) {
    const sources = await askAll();
    await ctx.runMutation(internal.prices.quotes.store, { attempt: begun.attempt, sources });
    return sources;
  }
  await awaitRefresh(ctx, begun, AbortSignal.timeout(deadlines.grounding + MARGIN_MS));
  return (await ctx.runQuery(internal.prices.quotes.board, { now: Date.now() })) ?? [];
}

/** Asks every source in parallel, and leaves out those that do not answer in time. */
async function askAll(): Promise<QuoteSource[]> {
  const end = AbortSignal.timeout(deadlines.grounding);
  const asked = (["chainlink", ...TICKERS] as const).map(async (name): Promise<QuoteSource[]> => {
    try {
      const asking =
        name === "chainlink" ? askFeeds(deadlines.grounding) : askTicker(name, QUOTED, deadlines.grounding);
      // A source without a deadline of its own must not delay the others' answers.
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
  return (await Promise.all(asked)).flat();
}
