import { v } from "convex/values";
import { internal } from "../_generated/api";
import { internalMutation, internalQuery } from "../_generated/server";
import type { Place } from "../lib/lanes";
import { vCaller } from "../lib/limits";
import { finishRefresh, vTicket, type Ticket } from "../lib/refreshes";
import { beginInLane } from "../lib/renewals";
import { latestRow } from "./model";
import { vMarketFigures, vMarketSource } from "./stored";
import { readBack, written } from "./bodies";

const vStored = v.object({
  fetchedAt: v.number(),
  model: v.string(),
  figures: vMarketFigures,
  sources: v.array(vMarketSource),
});

/** Where a snapshot waits that the service itself needs. */
const OWN: Place = { lane: "service", owner: "market", request: false };

export const refreshKey = (focus: string) => `market:${focus}`;

/** The stored snapshot of a focus, however old. */
export const current = internalQuery({
  args: { focus: v.string() },
  returns: v.union(vStored, v.null()),
  handler: async (ctx, { focus }) => {
    const row = await latestRow(ctx, focus);
    return row === null ? null : readBack(row);
  },
});

/** The same as the text that `GET /mcp/market` answers. */
export const answer = internalQuery({
  args: { focus: v.string() },
  returns: v.union(v.object({ fetchedAt: v.number(), body: v.string() }), v.null()),
  handler: async (ctx, { focus }) => {
    const row = await latestRow(ctx, focus);
    return row === null ? null : { fetchedAt: row.fetchedAt, body: row.body };
  },
});

/**
 * Starts a refresh of a focus, or joins the one under way.
 * @throws AppError `rate_limited`, also when too much is being asked for or the day's budget is used up.
 */
export const begin = internalMutation({
  args: { focus: v.string(), caller: vCaller, forService: v.optional(v.boolean()) },
  returns: vTicket,
  handler: async (ctx, { focus, caller, forService = false }): Promise<Ticket> => {
    const refresh = { key: refreshKey(focus), caller, ...(forService ? { place: OWN } : {}) };
    return beginInLane(ctx, refresh, internal.market.desk.writeSnapshot, { focus });
  },
});

export const store = internalMutation({
  args: {
    attempt: v.number(),
    snapshot: vStored.omit("fetchedAt").extend({ focus: v.string(), replaced: v.number() }),
  },
  returns: v.null(),
  handler: async (ctx, { attempt, snapshot }) => {
    const { focus, model, replaced } = snapshot;
    if (!(await finishRefresh(ctx, refreshKey(focus), attempt, null))) return null;
    const fetchedAt = Date.now();
    const next = { focus, fetchedAt, model, body: written(fetchedAt, snapshot), replaced };
    const row = await latestRow(ctx, focus);
    if (row === null) await ctx.db.insert("marketSnapshots", next);
    else await ctx.db.replace("marketSnapshots", row._id, next);
    return null;
  },
});
