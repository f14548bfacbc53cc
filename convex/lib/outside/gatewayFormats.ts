import { v } from "convex/values";
import { getOneFrom } from "convex-helpers/server/relationships";
import { internalQuery, type QueryCtx } from "../../_generated/server";
import { change } from "../changes";
import { DAY } from "../time";

/** Which gateways refuse a schema beside the prompt: learnt from their refusals, and remembered for a day. */

/** A gateway may accept tomorrow what it refuses today. */
const BELIEVED_MS = DAY;

export const isRefused = internalQuery({
  args: { gateway: v.string(), now: v.number() },
  returns: v.boolean(),
  handler: async (ctx, { gateway, now }) => {
    const row = await find(ctx, gateway);
    return row !== null && now - row.refusedAt < BELIEVED_MS;
  },
});

/** Notes that a gateway refused a schema and answered without it. */
export const remember = change({ gateway: v.string() }, async (ctx, { gateway }) => {
  const row = await find(ctx, gateway);
  const refusedAt = Date.now();
  if (row === null) await ctx.db.insert("refusedFormats", { gateway, refusedAt });
  // Of several requests that were refused together, one writes.
  else if (refusedAt - row.refusedAt >= BELIEVED_MS) {
    await ctx.db.patch("refusedFormats", row._id, { refusedAt });
  }
});

async function find(ctx: QueryCtx, gateway: string) {
  return getOneFrom(ctx.db, "refusedFormats", "by_gateway", gateway);
}
