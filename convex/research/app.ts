import { v } from "convex/values";
import { rowsByBoth } from "../lib/records/rows";
import { ownRows } from "../accounts/lists";
import { shownReport, vReport } from "./model";
import { researchTables } from "./tables";

const vShift = researchTables.shifts.validator
  .pick("status", "startedAt", "stopsAt", "endedAt", "interimReportsCount", "finalReportSent", "error")
  .extend({
    _id: v.id("shifts"),
    /** "" for the whole market. */
    token: v.string(),
    collectionsCount: v.number(),
  });

export const shifts = ownRows(
  vShift,
  (db, userId) => db.query("shifts").withIndex("by_userId_and_startedAt", (q) => q.eq("userId", userId)),
  (row) => ({ ...row, token: row.focus, collectionsCount: row.observationIds.length }),
);

export const reports = ownRows(
  vReport.omit("userId"),
  (db, userId) => rowsByBoth(db.query("reports"), "userId", userId, "state", "done"),
  shownReport,
);
