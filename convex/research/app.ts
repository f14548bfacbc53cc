import { rowsByBoth } from "../lib/records";
import { ownRows } from "../accounts/lists";
import { shownReport, shownShift, vReport, vShift } from "./model";

export const shifts = ownRows(
  vShift,
  (db, userId) => db.query("shifts").withIndex("by_userId_and_startedAt", (q) => q.eq("userId", userId)),
  (row, ctx) => shownShift(ctx, row),
);

export const reports = ownRows(
  vReport.omit("userId"),
  (db, userId) => rowsByBoth(db.query("reports"), "userId", userId, "state", "done"),
  shownReport,
);
