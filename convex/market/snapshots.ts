import { v } from "convex/values";
import { internal } from "../_generated/api";
import { internalMutation, internalQuery, type ActionCtx } from "../_generated/server";
import type { Payer } from "../lib/budget";
import { failureOf, messageOf } from "../lib/errors";
import type { Place } from "../lib/lanes";
import { vCaller } from "../lib/limits";
import { log } from "../lib/log";
import { providerAction } from "../lib/providerCalls";
import { finishRefresh, vTicket, type Ticket } from "../lib/refreshes";
import { beginInLane, vTurn } from "../lib/renewals";
import { MINUTE } from "../lib/time";
import { askForMarket, latestRow, marketOfSources } from "./model";
import { vMarketFigures, vMarketSource } from "./stored";
import { readBack, written } from "./written";

/** Two calls of a minute (the second is the repair turn) and a margin. */
const LEASE_MS = 2.5 * MINUTE;

const vStored = v.object({
  fetchedAt: v.number(),
  model: v.string(),
  figures: vMarketFigures,
  sources: v.array(vMarketSource),
});

/** Where a snapshot waits that the service itself needs. */
const OWN: Place = { lane: "service", owner: "market", request: false };

const refreshKey = (focus: string) => `market:${focus}`;

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
    return beginInLane(ctx, refresh, internal.market.snapshots.refresh, { focus });
  },
});

/**
 * Asks the gateway and stores what it said, held against the sources of prices. While the gateway alone fails, the
 * sources' own rows are the snapshot.
 */
export const refresh = providerAction({
  args: { focus: v.string(), ...vTurn },
  returns: v.null(),
  handler: async (ctx, { focus, attempt, payer }) => {
    const taken = { key: refreshKey(focus), attempt, leaseMs: LEASE_MS };
    if (!(await ctx.runMutation(internal.lib.refreshes.take, taken))) return null;
    const { figures, sources, replaced, model } = await marketOf(ctx, focus, payer);
    const snapshot = { focus, model, figures, sources, replaced };
    await ctx.runMutation(internal.market.snapshots.store, { attempt, snapshot });
    return null;
  },
});

async function marketOf(ctx: ActionCtx, focus: string, payer: Payer) {
  try {
    return await askForMarket(ctx, focus, payer);
  } catch (error) {
    const told = failureOf(error)?.code === "upstream" ? await marketOfSources(ctx, focus) : null;
    if (told === null) throw error;
    log.warn("market.without a model", { focus, reason: messageOf(error) });
    return told;
  }
}

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
