import { v } from "convex/values";
import { internal } from "../_generated/api";
import { internalMutation, internalQuery } from "../_generated/server";
import { messageOf } from "../lib/errors";
import { vCaller } from "../lib/limits";
import { providerAction } from "../lib/providerCalls";
import { beginRefresh, finishRefresh, vTicket, type Ticket } from "../lib/refreshes";
import { MINUTE } from "../lib/time";
import { askForMarket, latestSnapshot } from "./model";
import { vMarketFigures, vMarketSource } from "./tables";

/** Two calls of a minute (the second is the repair turn) and a margin. */
const LEASE_MS = 2.5 * MINUTE;

const vStored = v.object({
  fetchedAt: v.number(),
  figures: vMarketFigures,
  sources: v.array(vMarketSource),
});

const refreshKey = (focus: string) => `market:${focus}`;

/** The stored snapshot of a focus, however old. */
export const current = internalQuery({
  args: { focus: v.string() },
  returns: v.union(vStored, v.null()),
  handler: async (ctx, { focus }) => {
    const row = await latestSnapshot(ctx, focus);
    if (row === null) return null;
    const { fetchedAt, figures, sources = [] } = row;
    return { fetchedAt, figures, sources };
  },
});

/** Starts a refresh of a focus, or joins the one under way. */
export const begin = internalMutation({
  args: { focus: v.string(), caller: vCaller },
  returns: vTicket,
  handler: async (ctx, { focus, caller }): Promise<Ticket> =>
    beginRefresh(ctx, { key: refreshKey(focus), leaseMs: LEASE_MS, caller }, (attempt) =>
      ctx.scheduler.runAfter(0, internal.market.snapshots.refresh, { focus, attempt }),
    ),
});

/** Asks the gateway and stores what it said, held against the sources of prices. */
export const refresh = providerAction({
  args: { focus: v.string(), attempt: v.number() },
  returns: v.null(),
  handler: async (ctx, { focus, attempt }) => {
    try {
      const { figures, sources, replaced, model } = await askForMarket(ctx, focus);
      const snapshot = { focus, model, figures, sources, replaced };
      await ctx.runMutation(internal.market.snapshots.store, { attempt, snapshot });
    } catch (error) {
      await ctx.runMutation(internal.lib.refreshes.fail, {
        key: refreshKey(focus),
        attempt,
        failure: messageOf(error),
      });
    }
    return null;
  },
});

export const store = internalMutation({
  args: {
    attempt: v.number(),
    snapshot: v.object({
      focus: v.string(),
      model: v.string(),
      figures: vMarketFigures,
      sources: v.array(vMarketSource),
      replaced: v.number(),
    }),
  },
  returns: v.null(),
  handler: async (ctx, { attempt, snapshot }) => {
    const { focus } = snapshot;
    if (!(await finishRefresh(ctx, refreshKey(focus), attempt, null))) return null;
    const next = { ...snapshot, fetchedAt: Date.now() };
    const row = await latestSnapshot(ctx, focus);
    if (row === null) await ctx.db.insert("marketSnapshots", next);
    else await ctx.db.replace("marketSnapshots", row._id, next);
    return null;
  },
});
