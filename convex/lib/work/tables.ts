import { defineTable } from "convex/server";
import { v } from "convex/values";
import { literals } from "../literals";
import type { RecordsOf } from "../records/records";

/** The lanes for model calls, in the order in which they get free places. */
export const MODEL_LANES = ["service", "paid", "signedIn", "anonymous"] as const;
/** `messages`: the messenger's calls, with places of their own. */
export const vLane = literals(...MODEL_LANES, "messages");

export const workTables = {
  /**
   * Every piece of leased work, from its opening to its end. Written by `lib/work` for the room that opened it; the
   * room's own rows say what it is about. A row dies with its work.
   */
  work: defineTable({
    /** The action, as in `research/actions:writeReport`, and its arguments as JSON. */
    run: v.string(),
    args: v.string(),
    /** The mutation that learns of failures, and its arguments as JSON. Absent: nobody needs to know. */
    told: v.optional(v.object({ run: v.string(), args: v.string() })),
    /** The subject by which its room finds it. */
    subject: v.optional(v.string()),
    /** The lane in which it waits for a place; absent: it needs none. */
    lane: v.optional(vLane),
    /** The owner whose turn it is counted as, hashed. */
    owner: v.string(),
    /** While it waits, the lowest goes first: an owner's second job comes after everybody's first. */
    turn: v.number(),
    /** `waiting`: for a place; `resting`: until its next attempt; `running`. */
    state: literals("waiting", "resting", "running"),
    /** Epoch ms. Waiting: since when. Resting: when it goes on. Running: when its lease ends. */
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
    .index("by_turn", ["lane", "state", "turn"])
    .index("by_owner", ["lane", "state", "owner", "turn"])
    .index("by_state_and_at", ["state", "at"])
    .index("by_subject", ["subject"]),
};

export const workRecords: RecordsOf<typeof workTables> = {
  work: { keep: "a row goes with its work" },
};
