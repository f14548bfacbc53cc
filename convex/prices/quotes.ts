import { v } from "convex/values";
import { internal } from "../_generated/api";
import { internalMutation, internalQuery, type ActionCtx } from "../_generated/server";
import { deadlines } from "../lib/outside/deadlines";
import { awaitRefresh, beginRefresh, finishRefresh, vTicket, type Ticket } from "../lib/refreshes";
import { MINUTE, SECOND } from "../lib/time";
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
      ctx.scheduler.runAfter(0, internal.prices.desk.refresh, { attempt }),
    ),
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
