import { paginationOptsValidator, paginationResultValidator } from "convex/server";
import { v } from "convex/values";
import { query } from "../_generated/server";
import { requireUser } from "../users/model";
import { vResult } from "./tables";

/** Research as the web application shows it. */

/** The user's reports, newest first. */
export const reports = query({
  args: { paginationOpts: paginationOptsValidator },
  returns: paginationResultValidator(
    v.object({
      _id: v.id("reports"),
      jobId: v.id("shifts"),
      type: v.union(v.literal("interim"), v.literal("final")),
      /** Epoch ms. */
      generatedAt: v.number(),
      result: vResult,
      messengerSent: v.boolean(),
      /** "" for the whole market. */
      jobToken: v.string(),
      jobStartedAt: v.number(),
    }),
  ),
  handler: async (ctx, { paginationOpts }) => {
    const { userId } = await requireUser(ctx);
    const found = await ctx.db
      .query("reports")
      .withIndex("by_userId", (q) => q.eq("userId", userId))
      .order("desc")
      .paginate(paginationOpts);
    const page = found.page.map(
      ({ _id, jobId, type, generatedAt, result, messengerSent, jobToken, jobStartedAt }) => ({
        _id,
        jobId,
        type,
        generatedAt,
        result,
        messengerSent,
        jobToken,
        jobStartedAt,
      }),
    );
    return { ...found, page };
  },
});
