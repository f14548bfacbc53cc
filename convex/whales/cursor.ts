import { v } from "convex/values";
import { internal } from "../_generated/api";
import { internalMutation, internalQuery, type MutationCtx, type QueryCtx } from "../_generated/server";
import { isSet } from "../lib/env";
import { storeMeasured } from "./model";
import { vMeasured } from "./tables";

/** How far the chain has been read. Only blocks that the node calls safe are read, so none of them goes again. */

/** Starts a run of `follow`. Of two runs at once one finds the cursor moved, and ends. */
export async function beginFollowing(ctx: MutationCtx): Promise<void> {
  // Without its own RPC the service does not follow the chain: the public one is not meant for it.
  if (isSet("CHAIN_RPC_URL")) await ctx.scheduler.runAfter(0, internal.whales.actions.follow, {});
}

/** The last block that was read; `null` before the first run. */
export const current = internalQuery({
  args: {},
  returns: v.union(v.number(), v.null()),
  handler: async (ctx) => (await cursorOf(ctx))?.block ?? null,
});

async function cursorOf(ctx: QueryCtx) {
  return ctx.db.query("whaleCursors").first();
}

/**
 * Moves the cursor from a block, `null` for the first run, and stores what was measured up to its new place.
 * @returns Whether the cursor was there: if not, another run was faster, and nothing happens.
 */
export const advance = internalMutation({
  args: { from: v.union(v.number(), v.null()), to: v.number(), alerts: v.array(vMeasured) },
  returns: v.boolean(),
  handler: async (ctx, { from, to, alerts }) => {
    const row = await cursorOf(ctx);
    if ((row?.block ?? null) !== from) return false;
    await storeMeasured(ctx, alerts, Date.now());
    if (row === null) await ctx.db.insert("whaleCursors", { block: to });
    else await ctx.db.patch("whaleCursors", row._id, { block: to });
    return true;
  },
});
