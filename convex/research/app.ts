import { paginationOptsValidator, paginationResultValidator } from "convex/server";
import { v } from "convex/values";
import { omit } from "convex-helpers";
import { query } from "../_generated/server";
import { requireUser } from "../users/model";
import { INWARD, researchTables, vReport } from "./tables";
import { rowsBy } from "../lib/records/rows";

/** Research as the web application shows it. */

/** The user's research shifts, newest first. */
export const shifts = query({
  args: { paginationOpts: paginationOptsValidator },
  returns: paginationResultValidator(
    researchTables.shifts.validator
      .pick(
        "status",
        "startedAt",
        "stopsAt",
        "endedAt",
        "collectionsCount",
        "interimReportsCount",
        "finalReportSent",
        "error",
      )
      .extend({
        _id: v.id("shifts"),
        /** "" for the whole market. */
        token: v.string(),
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
  returns: paginationResultValidator(vReport.omit("userId")),
  handler: async (ctx, { paginationOpts }) => {
    const { userId } = await requireUser(ctx);
    const found = await rowsBy(ctx.db.query("reports"), "userId", userId)
      .order("desc")
      .paginate(paginationOpts);
    const page = found.page.map((row) => omit(row, ["_creationTime", "userId", ...INWARD]));
    return { ...found, page };
  },
});
