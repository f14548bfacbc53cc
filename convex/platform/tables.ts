import { defineTable } from "convex/server";
import { v } from "convex/values";
import { literals } from "../lib/literals";
import { indexOlderThan, type RecordsOf } from "./records";
import { toDay } from "../lib/time";
import { vProvider, vRefusing } from "./outside/calls";

/** The first three have a concurrency limit; `free` work begins when it is due. */
const vQueue = literals("models", "orders", "free");

export const platformTables = {
  /**
   * Every piece of leased work, from its opening to its end. Written by `platform/work` for the room that opened it; the
   * room's own rows say what it is about. A row dies with its work.
   */
  work: defineTable({
    queue: vQueue,
    /** While it waits, the lowest goes first (`RANKS`), and of the same rank the oldest. */
    rank: v.number(),
    /** The action, as in `research/actions:writeReport`, and its arguments. */
    run: v.string(),
    args: v.record(v.string(), v.any()),
    /** The mutation that learns of failures, and its arguments. Absent: no mutation has to react. */
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
    /** The scheduled function that runs it. */
    scheduled: v.optional(v.id("_scheduled_functions")),
  })
    .index("by_queue", ["queue", "state", "rank", "at"])
    .index("by_state_and_at", ["state", "at"])
    .index("by_subject", ["subject"]),

  /**
   * Cached answers, and the work to renew them. Written by `platform/answers` for the room that owns the key; one row per
   * key. Dies a week after its last work began.
   */
  answers: defineTable({
    /** Domain and subject, for example `market:BTC`. */
    key: v.string(),
    /** The last good answer: JSON, as the key's room writes and reads it. Absent where the room has rows of its own. */
    body: v.optional(v.string()),
    /** Epoch ms: when that was stored; absent before the first. */
    doneAt: v.optional(v.number()),
    /** Its source has changed since: the next reader renews it. */
    isOutdated: v.optional(v.literal(true)),
    /** When the latest work began, epoch ms. */
    beganAt: v.number(),
    /** Epoch ms until which running work owns the key; absent if none runs. */
    leaseUntil: v.optional(v.number()),
    /** Why the latest work failed; absent while some runs, and after a success. */
    failure: v.optional(
      v.object({
        error: v.string(),
        /** The question itself was refused. */
        isQuestions: v.optional(v.literal(true)),
        /** Epoch ms until which it is not begun again. */
        restsUntil: v.number(),
      }),
    ),
  })
    .index("by_key", ["key"])
    .index("by_beganAt", ["beganAt"]),

  /** When each cron last did its work: one row per cron, written by `platform/changes` in the cron's own transaction. Kept. */
  cronRuns: defineTable({
    /** As in `convex/crons.ts`. */
    name: v.string(),
    /** Epoch ms. */
    ranAt: v.number(),
  }).index("by_name", ["name"]),

  /** Whether each provider works. Written by `platform/outside/calls` when that changes. Kept: one row per provider. */
  providerStates: defineTable({
    provider: vProvider,
    /** Failed calls in a row, counted up to the number from which on it fails. */
    failures: v.number(),
    /** Epoch ms: since when it works, or fails. */
    since: v.number(),
    /** Epoch ms: from when to `since` it failed last, if it works. */
    failedFrom: v.optional(v.number()),
    /** Epoch ms of a recent failed call. */
    failedAt: v.optional(v.number()),
    /** Why it fails, if it answers and refuses this service. */
    refuses: v.optional(vRefusing),
    /** The time of the chain's newest block (epoch ms), where the last read found it stale. */
    staleHead: v.optional(v.number()),
  }).index("by_provider", ["provider"]),

  /** Sums of what the billing providers have cost on a UTC day. Written by `platform/outside/calls`. Dies after two days. */
  spending: defineTable({
    /** `2026-01-05`. */
    day: v.string(),
    /** A provider, `callers`, `anonymous`, or one caller's token, own chat, address or network, hashed. */
    of: v.string(),
    /** Several rows count together, so that actions which end together seldom conflict. */
    shard: v.number(),
    /** Millionths of a USD. */
    micros: v.number(),
  }).index("by_day", ["day", "of", "shard"]),

  /**
   * Concurrency slots of waiting requests. Written by `platform/limits/slots`; a row dies with its answer, and a new caller
   * takes over the row of a lost one.
   */
  slots: defineTable({
    /** The slot's number; each has at most one row. */
    shard: v.number(),
    /** The signed-in user, and the address, hashed. Absent if unknown. */
    user: v.optional(v.string()),
    address: v.optional(v.string()),
    /** Whether its holder waits for an order or a payment. */
    isOrder: v.optional(v.literal(true)),
    /** Epoch ms; after this it counts as lost. */
    until: v.number(),
  })
    .index("by_shard", ["shard", "until"])
    .index("by_user", ["user", "until"])
    .index("by_address", ["address", "until"]),
};

export const platformRecords: RecordsOf<typeof platformTables> = {
  work: { keep: "a row goes with its work" },
  answers: {
    keep: {
      days: 7,
      why: "a cache of minutes, used longer when refreshes are slow",
      aged: indexOlderThan("beganAt"),
      ended: ({ leaseUntil = 0 }, before) => leaseUntil < before,
    },
  },
  cronRuns: { keep: "one row per cron" },
  providerStates: { keep: "one row per provider" },
  spending: {
    keep: {
      days: 2,
      why: "the budget is a day's",
      aged: (rows, before) => rows.withIndex("by_day", (q) => q.lt("day", toDay(before))),
    },
  },
  slots: { keep: "one row a slot, taken over when its holder was lost" },
};
