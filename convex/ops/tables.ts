import { defineTable } from "convex/server";
import { v } from "convex/values";
import { older, type RecordsOf } from "../lib/records/records";
import { vTrouble } from "./troubles";

export const opsTables = {
  /**
   * The state of each hour of a day. Written by `ops/uptime` when the next hour begins; dies after 90 days, which
   * `/status` covers. Missing hours were not served.
   */
  serviceDays: defineTable({
    /** Epoch ms of its beginning, UTC. */
    day: v.number(),
    hours: v.array(v.object({ hour: v.number(), troubles: v.array(vTrouble) })),
  }).index("by_day", ["day"]),
};

export const opsRecords: RecordsOf<typeof opsTables> = {
  serviceDays: {
    keep: { days: 90, why: "as far back as /status looks", aged: older("day") },
  },
};
