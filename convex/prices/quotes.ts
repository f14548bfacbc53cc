import { v } from "convex/values";
import { internal } from "../_generated/api";
import { internalMutation, internalQuery, type ActionCtx } from "../_generated/server";
import { deadlines } from "../lib/deadlines";
import { messageOf } from "../lib/errors";
import { log } from "../lib/log";
import { providerAction } from "../lib/providerCalls";
import { awaitRefresh, beginRefresh, finishRefresh, vTicket, type Ticket } from "../lib/refreshes";
import { MINUTE, SECOND, unlessLate } from "../lib/time";
import { askFeeds } from "./sources";
import { askTicker, QUOTED, TICKERS } from "../providers/tickers";
import { vQuoteSource, type QuoteSource } from "./tables";

/** What all sources of prices say at one time, asked together and shared by everyone who needs it. */

const FRESH_MS = MINUTE;
const KEY = "prices:quotes";
const LEASE_MS = 30 * SECOND;
/** What asking takes besides the sources' own deadline. */
const MARGIN_MS = 2 * SECOND;

/**
 * What the sources within reach say, at most 60 s old, most trusted first: the feeds, Coinbase, Binance, CoinGecko. Empty
 * when none is; the caller goes on without. Never throws for a source's sake.
 */
export async function freshQuotes(ctx: ActionCtx): Promise<QuoteSource[]> {
  const read = () => ctx.runQuery(internal.prices.quotes.board, { now: Date.now() });
  const young = await read();
  if (young !== null) return young;
  const ticket = await ctx.runMutation(internal.prices.quotes.begin, {});
  await awaitRefresh(ctx, ticket, AbortSignal.timeout(deadlines.grounding + MARGIN_MS));
  return (await read()) ?? [];
}

/** The stored quotes where they are young enough at `now` (epoch ms), else `null`. */
export const board = internalQuery({
  args: { now: v.number() },
  returns: v.union(v.array(vQuoteSource), v.null()),
  handler: async (ctx, { now }) => {
    const row = await ctx.db.query("quoteBoards").first();
    return row !== null && now - row.askedAt <= FRESH_MS ? row.sources : null;
  },
});

/** Starts asking the sources, or joins who does. */
export const begin = internalMutation({
  args: {},
  returns: vTicket,
  handler: async (ctx): Promise<Ticket> =>
    beginRefresh(ctx, { key: KEY, leaseMs: LEASE_MS, caller: { address: null } }, (attempt) =>
      ctx.scheduler.runAfter(0, internal.prices.quotes.refresh, { attempt }),
    ),
});

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

export const store = internalMutation({
  args: { attempt: v.number(), sources: v.array(vQuoteSource) },
  returns: v.null(),
  handler: async (ctx, { attempt, sources }) => {
    if (!(await finishRefresh(ctx, KEY, attempt, null))) return null;
    const quotes = { askedAt: Date.now(), sources };
    const row = await ctx.db.query("quoteBoards").first();
    if (row === null) await ctx.db.insert("quoteBoards", quotes);
    else await ctx.db.replace("quoteBoards", row._id, quotes);
    return null;
  },
});
