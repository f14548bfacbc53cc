import { v, type Infer } from "convex/values";
import { internalMutation, internalQuery, type QueryCtx } from "../_generated/server";
import { change } from "../lib/changes";
import { beginRefresh, finishRefresh } from "../lib/refreshes";
import { vTicket } from "../lib/tables";
import { MINUTE, SECOND } from "../lib/time";
import { vQuoteSource } from "./tables";

/** Quotes of all price sources at one time, fetched together and shared by all callers. */

const FRESH_MS = MINUTE;
const KEY = "prices:quotes";
const LEASE_MS = 30 * SECOND;

const vBoard = v.union(v.array(vQuoteSource), v.null());

/** The stored quotes if they are recent enough at `now` (epoch ms), otherwise `null`. */
export const board = internalQuery({
  args: { now: v.number() },
  returns: vBoard,
  handler: (ctx, { now }) => youngBoard(ctx, now),
});

async function youngBoard(ctx: QueryCtx, now: number): Promise<Infer<typeof vBoard>> {
  const row = await ctx.db.query("quoteBoards").first();
  return row !== null && now - row.askedAt <= FRESH_MS ? row.sources : null;
}

/** The stored quotes if they are recent, otherwise the attempt at new ones: with `isNew`, the caller's own. */
export const begin = internalMutation({
  args: {},
  returns: v.union(v.object({ young: v.array(vQuoteSource) }), vTicket),
  handler: async (ctx) => {
    const young = await youngBoard(ctx, Date.now());
    if (young !== null) return { young };
    const work = { key: KEY, leaseMs: LEASE_MS, caller: { address: null } };
    return beginRefresh(ctx, work, () => Promise.resolve());
  },
});

export const store = change(
  { attempt: v.number(), sources: v.array(vQuoteSource) },
  async (ctx, { attempt, sources }) => {
    if (!(await finishRefresh(ctx, KEY, attempt, null))) return;
    const quotes = { askedAt: Date.now(), sources };
    const row = await ctx.db.query("quoteBoards").first();
    if (row === null) await ctx.db.insert("quoteBoards", quotes);
    else await ctx.db.replace("quoteBoards", row._id, quotes);
  },
);
