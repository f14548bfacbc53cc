import { v } from "convex/values";
import { internalQuery } from "../_generated/server";
import { change } from "../lib/changes";

/** The offer that was signed last. */

/** Its signature, if it was for exactly these terms, in JSON. */
export const signatureOf = internalQuery({
  args: { offer: v.string() },
  returns: v.union(v.string(), v.null()),
  handler: async (ctx, { offer }) => {
    const row = await ctx.db.query("paymentOffers").first();
    return row?.offer === offer ? row.signature : null;
  },
});

export const keep = change({ offer: v.string(), signature: v.string() }, async (ctx, offer) => {
  const row = await ctx.db.query("paymentOffers").first();
  if (row === null) await ctx.db.insert("paymentOffers", offer);
  else await ctx.db.replace("paymentOffers", row._id, offer);
});
