import { v } from "convex/values";
import { rowsBy } from "../lib/records/rows";
import { ownRows } from "../accounts/lists";
import { deliveryOf } from "./model";
import { researchTables, vReport } from "./tables";

const vShift = researchTables.shifts.validator
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
  });

export const shifts = ownRows(
  vShift,
  (db, userId) => db.query("shifts").withIndex("by_userId_and_startedAt", (q) => q.eq("userId", userId)),
  (row) => ({ ...row, token: row.focus }),
);

export const reports = ownRows(
  vReport.omit("userId"),
  (db, userId) => rowsBy(db.query("reports"), "userId", userId),
  async (row, ctx) => ({ ...row, ...(await deliveryOf(ctx, row)) }),
);
