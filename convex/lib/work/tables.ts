import { defineTable } from "convex/server";
import { v } from "convex/values";
import { literals } from "../literals";
import type { RecordsOf } from "../records/records";

/** `models` and `messages` have a width; what is in neither begins when it is due. */
const vQueue = literals("models", "messages", "free");

export const workTables = {
  /**
   * Every piece of leased work, from its opening to its end. Written by `lib/work` for the room that opened it; the
   * room's own rows say what it is about. A row dies with its work.
   */
  work: defineTable({
    queue: vQueue,
    /** While it waits, the lowest goes first (`RANKS`), and of the same rank the oldest. */
    rank: v.number(),
    /** The action, as in `research/actions:writeReport`, and its arguments. */
    run: v.string(),
    args: v.record(v.string(), v.any()),
    /** The mutation that learns of failures, and its arguments. Absent: nobody needs to know. */
    onFailure: v.optional(v.object({ run: v.string(), args: v.record(v.string(), v.any()) })),
    /** The subject by which its room finds it. */
    subject: v.optional(v.string()),
    state: literals("waiting", "running"),
    /** Epoch ms. Waiting: from when on it may begin. Running: when its lease ends. */
    at: v.number(),
    /** Counts attempts; messages from an earlier one are dropped. */
    attempt: v.number(),
    /** Attempts that failed or were lost. */
    failures: v.number(),
    /** After this many failures it ends; absent: only its room ends it. */
    attempts: v.optional(v.number()),
    /** Epoch ms: no further attempt begins after this. */
    until: v.optional(v.number()),
    /** The latest failure. */
    trouble: v.optional(v.string()),
    /** The scheduled function that runs it. */
    scheduled: v.optional(v.id("_scheduled_functions")),
  })
    .index("by_queue", ["queue", "state", "rank", "at"])
    .index("by_state_and_at", ["state", "at"])
    .index("by_subject", ["subject"]),
};

export const workRecords: RecordsOf<typeof workTables> = {
  work: { keep: "a row goes with its work" },
};
