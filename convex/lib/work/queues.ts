import { v } from "convex/values";
import { internalQuery } from "../../_generated/server";
import { mayStart, runningBeside } from "./lanes";
import { vLane } from "./tables";

/** The turns that wait in a lane: the first of all, and an owner's last (-1 if the owner has none). `null` if nobody waits. */
export const standing = internalQuery({
  args: { lane: vLane, owner: v.string() },
  returns: v.union(v.object({ first: v.number(), own: v.number() }), v.null()),
  handler: async (ctx, { lane, owner }) => {
    const first = await ctx.db
      .query("work")
      .withIndex("by_turn", (q) => q.eq("lane", lane).eq("state", "waiting"))
      .first();
    if (first === null) return null;
    const own = await ctx.db
      .query("work")
      .withIndex("by_owner", (q) => q.eq("lane", lane).eq("state", "waiting").eq("owner", owner))
      .order("desc")
      .first();
    return { first: first.turn, own: own?.turn ?? -1 };
  },
});

/** Whether work of a lane could start. */
export const isFree = internalQuery({
  args: { lane: vLane },
  returns: v.boolean(),
  handler: async (ctx, { lane }) => mayStart(lane, await runningBeside(ctx, lane)),
});
