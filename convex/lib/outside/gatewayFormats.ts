import { v } from "convex/values";
import { internalQuery } from "../../_generated/server";
import { change } from "../changes";
import { DAY } from "../time";

/** What gateways refuse of a request (its schema, its limit, a role): learnt from their refusals, believed for a day. */

/** A gateway may accept tomorrow what it refuses today. */
const BELIEVED_MS = DAY;
/** There are few parts; limits that a gateway names may change. */
const MOST_PARTS = 20;

export const refused = internalQuery({
  args: { gateway: v.string(), now: v.number() },
  returns: v.array(v.string()),
  handler: async (ctx, { gateway, now }) => {
    const rows = await ctx.db
      .query("refusedParts")
      .withIndex("by_gateway", (q) => q.eq("gateway", gateway))
      .take(MOST_PARTS);
    return rows.filter(({ refusedAt }) => now - refusedAt < BELIEVED_MS).map(({ part }) => part);
  },
});

/** Notes that a gateway refused a part of a request and answered without it. */
export const remember = change({ gateway: v.string(), part: v.string() }, async (ctx, { gateway, part }) => {
  const row = await ctx.db
    .query("refusedParts")
    .withIndex("by_gateway", (q) => q.eq("gateway", gateway).eq("part", part))
    .unique();
  const refusedAt = Date.now();
  if (row === null) await ctx.db.insert("refusedParts", { gateway, part, refusedAt });
  // Of several requests that were refused together, one writes.
  else if (refusedAt - row.refusedAt >= BELIEVED_MS)
    await ctx.db.patch("refusedParts", row._id, { refusedAt });
});
