import { v } from "convex/values";
import { internal } from "../_generated/api";
import { internalMutation, internalQuery } from "../_generated/server";
import { change } from "../lib/changes";
import { vCaller } from "../lib/limits/callers";
import { vTicket, type Ticket } from "../lib/tables";
import { beginInLane, finishInLane, vResultOf } from "../lib/renewals";
import { latestRow } from "./model";
import { vMarketFigures, vMarketSource } from "./validators";
import { readBack, written } from "./bodies";

const vStored = v.object({
  fetchedAt: v.number(),
  model: v.string(),
  figures: vMarketFigures,
  sources: v.array(vMarketSource),
});

/** The stored snapshot of a focus, however old. */
export const current = internalQuery({
  args: { focus: v.string() },
  returns: v.union(vStored, v.null()),
  handler: async (ctx, { focus }) => {
    const row = await latestRow(ctx, focus);
    return row === null ? null : readBack(row);
  },
});

/** The same as the text of `GET /mcp/market`. */
export const answer = internalQuery({
  args: { focus: v.string() },
  returns: v.union(v.object({ fetchedAt: v.number(), body: v.string() }), v.null()),
  handler: async (ctx, { focus }) => {
    const row = await latestRow(ctx, focus);
    return row === null ? null : { fetchedAt: row.fetchedAt, body: row.body };
  },
});

/**
 * Starts a refresh of a focus, or joins the running one.
 * @throws AppError `rate_limited`, also if too many requests wait or the day's budget is used up.
 */
export const begin = internalMutation({
  args: { focus: v.string(), caller: vCaller, forService: v.optional(v.boolean()) },
  returns: vTicket,
  handler: async (ctx, { focus, caller, forService = false }): Promise<Ticket> => {
    const refresh = { key: `market:${focus}`, caller, ...(forService ? { rank: "service" as const } : {}) };
    return beginInLane(ctx, refresh, internal.market.desk.writeSnapshot, { focus });
  },
});

export const store = change(
  {
    of: vResultOf,
    snapshot: vStored.omit("fetchedAt").extend({ focus: v.string(), replaced: v.number() }),
  },
  async (ctx, { of, snapshot }) => {
    const { focus, model, replaced } = snapshot;
    if (!(await finishInLane(ctx, of))) return;
    const fetchedAt = Date.now();
    const next = { focus, fetchedAt, model, body: written(fetchedAt, snapshot), replaced };
    const row = await latestRow(ctx, focus);
    if (row === null) await ctx.db.insert("marketSnapshots", next);
    else await ctx.db.replace("marketSnapshots", row._id, next);
  },
);
