import { v } from "convex/values";
import { internalMutation, internalQuery } from "../_generated/server";
import { vOffer } from "./reports/tables";

/** The offer that was signed last. */

/** Its signature, where it was of these very terms. */
export const signatureOf = internalQuery({
  args: vOffer.fields,
  returns: v.union(v.string(), v.null()),
  handler: async (ctx, { resourceUrl, payTo, amount, validUntil }) => {
    const row = await ctx.db.query("paymentOffers").first();
    if (row === null || row.resourceUrl !== resourceUrl || row.payTo !== payTo) return null;
    return row.amount === amount && row.validUntil === validUntil ? row.signature : null;
  },
});

export const keep = internalMutation({
  args: { ...vOffer.fields, signature: v.string() },
  returns: v.null(),
  handler: async (ctx, offer) => {
    const row = await ctx.db.query("paymentOffers").first();
    if (row === null) await ctx.db.insert("paymentOffers", offer);
    else await ctx.db.replace("paymentOffers", row._id, offer);
    return null;
  },
});
