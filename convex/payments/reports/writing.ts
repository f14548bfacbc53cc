import { v } from "convex/values";
import { internalMutation } from "../../_generated/server";
import { end } from "../../lib/work/jobs";
import { claimObservation, vShared } from "../../research/observations";
import { vResult, vSourceStates } from "../../research/shapes";
import { claimAt, REPLAY_MS, vClaimWork } from "./model";

/** What the report of a paid claim is written from, and where it is kept. */

/** The evidence to write from, shared with whoever else researches this focus; `null` when the attempt was overtaken. */
export const begin = internalMutation({
  args: vClaimWork,
  returns: v.union(v.object({ focus: v.string(), shared: vShared }), v.null()),
  handler: async (ctx, work) => {
    const row = await claimAt(ctx, work, "generating");
    if (row === null) return null;
    const { focus } = row.order;
    return { focus, shared: await claimObservation(ctx, work.job, focus, "paid") };
  },
});

export const deliver = internalMutation({
  args: { ...vClaimWork, result: vResult, model: v.string(), sources: vSourceStates },
  returns: v.null(),
  handler: async (ctx, { result, model, sources, ...work }) => {
    const row = await claimAt(ctx, work, "generating");
    if (row === null) return null;
    await end(ctx, work.job);
    const generatedAt = Date.now();
    await ctx.db.patch("paymentClaims", row._id, {
      state: "delivered",
      report: { result, model, sources, generatedAt },
      forgetAt: generatedAt + REPLAY_MS,
    });
    return null;
  },
});
