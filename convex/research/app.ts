import { paginationOptsValidator, paginationResultValidator } from "convex/server";
import { v } from "convex/values";
import { query } from "../_generated/server";
import { requireUser } from "../users/model";
import { vResult } from "./shapes";

/** Research as the web application shows it. */

/** The user's research shifts, newest first. */
export const shifts = query({
  args: { paginationOpts: paginationOptsValidator },
  returns: paginationResultValidator(
    v.object({
      _id: v.id("shifts"),
      status: v.union(v.literal("active"), v.literal("completed"), v.literal("stopped")),
      /** "" for the whole market. */
      token: v.string(),
      /** Epoch ms, here and below. */
      startedAt: v.number(),
      stopsAt: v.number(),
      endedAt: v.optional(v.number()),
      collectionsCount: v.number(),
      interimReportsCount: v.number(),
      finalReportSent: v.boolean(),
      error: v.optional(v.string()),
    }),
  ),
  handler: async (ctx, { paginationOpts }) => {
    const { userId } = await requireUser(ctx);
    const found = await ctx.db
      .query("shifts")
      .withIndex("by_userId_and_startedAt", (q) => q.eq("userId", userId))
      .order("desc")
      .paginate(paginationOpts);
    const page = found.page.map(({ _id, status, focus, startedAt, stopsAt, endedAt, error, ...shift }) => ({
      _id,
      status,
      token: focus,
      startedAt,
      stopsAt,
      collectionsCount: shift.collectionsCount,
      interimReportsCount: shift.interimReportsCount,
      finalReportSent: shift.finalReportSent,
      ...(endedAt === undefined ? {} : { endedAt }),
      ...(error === undefined ? {} : { error }),
    }));
    return { ...found, page };
  },
});

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
