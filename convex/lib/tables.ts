import { defineTable } from "convex/server";
import { v, type Infer } from "convex/values";
import { PUBLIC_SOURCES } from "./publicSources";
import { older, type RecordsOf } from "./records/records";
import { dayOf } from "./time";

/** The providers that bill by the call, or by the token. */
const BILLED = ["llm", "sentiment", "agentApi"] as const;
export const vBilled = v.union(...BILLED.map((provider) => v.literal(provider)));

const UNBILLED = ["swap", "chain", "facilitator", "messenger", ...PUBLIC_SOURCES] as const;
/** The outside services. */
export const vProvider = v.union(...[...BILLED, ...UNBILLED].map((provider) => v.literal(provider)));

/** Who pays for a call; `shift`: calls of a running shift. */
const CLASSES = ["service", "paid", "shift", "signedIn", "anonymous"] as const;
export const vPayingClass = v.union(...CLASSES.map((payer) => v.literal(payer)));

/** Callers of a class (`lib/limits/callers`). */
export const vCallersPart = v.object({
  class: v.union(v.literal("signedIn"), v.literal("anonymous")),
  holders: v.array(v.string()),
});
/** A class, and the callers within it. */
export const vPayer = v.union(
  vPayingClass,
  vCallersPart,
  v.object({ class: v.literal("shift"), holders: v.array(v.string()) }),
);

/** What calls of a day have cost, in millionths of a USD. */
export const vSpending = v.object({
  /** `2026-01-05` (UTC). */
  day: v.string(),
  payer: vPayingClass,
  provider: vBilled,
  micros: v.number(),
  /** The callers whose parts it counts in. */
  holders: v.array(v.string()),
});

/** An attempt at a key, to wait for. */
export const vTicket = v.object({
  key: v.string(),
  attempt: v.number(),
  /** The caller began it, and was counted for that. */
  isNew: v.optional(v.boolean()),
});
export type Ticket = Infer<typeof vTicket>;

export const libTables = {
  /**
   * Attempts to renew cached things. Written by `lib/cache.ts` for the domain that owns the thing; one row per key,
   * so that attempts are counted on. Dies a day after its last attempt began.
   */
  refreshes: defineTable({
    /** Domain and subject, for example `market:BTC`. */
    key: v.string(),
    /** Counts refreshes of this key; a result from an earlier attempt is dropped. */
    attempt: v.number(),
    /** When the latest attempt began, epoch ms. */
    beganAt: v.number(),
    /** Epoch ms until which the running attempt owns the key; absent if none runs. */
    leaseUntil: v.optional(v.number()),
    /** Epoch ms: when the latest result was stored; absent before the first. */
    doneAt: v.optional(v.number()),
    /** Why the latest attempt failed; absent while one runs, and after a success. */
    failure: v.optional(v.string()),
    /** Epoch ms: it failed because the day's budget was used up, which is restored then. */
    limitedUntil: v.optional(v.number()),
    /** Epoch ms: when it failed. */
    failedAt: v.optional(v.number()),
    /** How long no new attempt begins after that, in ms. */
    restMs: v.optional(v.number()),
  })
    .index("by_key", ["key"])
    .index("by_beganAt", ["beganAt"]),

  /**
   * The last good answer at each key that is renewed on demand. Written by `lib/cache.ts`; replaced at each refresh.
   * Dies a week after.
   */
  answers: defineTable({
    /** As in `refreshes`. */
    key: v.string(),
    /** Epoch ms. */
    fetchedAt: v.number(),
    /** JSON, as the key's room writes and reads it. */
    body: v.string(),
  })
    .index("by_key", ["key"])
    .index("by_fetchedAt", ["fetchedAt"]),

  /** When each cron last did its work: one row per cron, written by `lib/cronRuns` in the cron's own transaction. Kept. */
  cronRuns: defineTable({
    /** As in `convex/crons.ts`. */
    name: v.string(),
    /** Epoch ms. */
    ranAt: v.number(),
  }).index("by_name", ["name"]),

  /** Whether each provider works. Written by `lib/outside/tallies` when that changes. Kept: one row per provider. */
  providerStates: defineTable({
    provider: vProvider,
    /** Failed calls in a row, counted up to the number from which on it fails. */
    failures: v.number(),
    /** Epoch ms: since when it works, or fails. */
    since: v.number(),
    /** Epoch ms of a recent failed call. */
    failedAt: v.optional(v.number()),
  }).index("by_provider", ["provider"]),

  /**
   * What the billing providers have cost on a UTC day. Written by `lib/outside/spending` at the end of the actions that
   * asked them. Dies after 35 days.
   */
  spending: defineTable({
    /** `2026-01-05`. */
    day: v.string(),
    payer: vPayingClass,
    provider: vBilled,
    /** Several rows count together, so that actions which end together seldom conflict. */
    shard: v.number(),
    /** Millionths of a USD. */
    micros: v.number(),
  }).index("by_day", ["day", "payer", "provider", "shard"]),

  /** What one user or address has spent of a UTC day's budget. Written by `lib/outside/spending`. Dies after two days. */
  callerSpending: defineTable({
    day: v.string(),
    /** A caller's token, own chat or address, hashed. */
    holder: v.string(),
    /** Millionths of a USD. */
    micros: v.number(),
  }).index("by_day_and_holder", ["day", "holder"]),

  /**
   * Who is waiting for an answer. Written by `lib/limits/slots`; a row dies with its answer, and a new caller takes over
   * the row of a lost one.
   */
  slots: defineTable({
    /** The slot's number; each has at most one row. */
    shard: v.number(),
    /** The signed-in user, and the address, hashed. Absent if unknown. */
    user: v.optional(v.string()),
    address: v.optional(v.string()),
    /** Epoch ms; after this it counts as lost. */
    until: v.number(),
  })
    .index("by_shard", ["shard", "until"])
    .index("by_user", ["user", "until"])
    .index("by_address", ["address", "until"]),

  /**
   * What gateways refused of a request: left out for a day. Written by `lib/outside/gatewayFormats`; a few rows per
   * gateway and model, kept.
   */
  refusedParts: defineTable({
    /** Address and model, as set. */
    gateway: v.string(),
    /** `schema`, `max_tokens`, `system`, `stream`, or `limit 1000`: its own limit of an answer. */
    part: v.string(),
    /** Epoch ms. */
    refusedAt: v.number(),
  }).index("by_gateway", ["gateway", "part"]),
};

export const libRecords: RecordsOf<typeof libTables> = {
  refreshes: {
    keep: {
      days: 1,
      why: "nobody waits for yesterday's attempt",
      aged: older("beganAt"),
      ended: ({ leaseUntil = 0 }, before) => leaseUntil < before,
    },
  },
  answers: {
    keep: {
      days: 7,
      why: "a cache of minutes, used longer when refreshes are slow",
      aged: older("fetchedAt"),
    },
  },
  cronRuns: { keep: "one row per cron" },
  providerStates: { keep: "one row per provider" },
  spending: {
    keep: {
      days: 35,
      why: "the operator compares a month with the provider's bill",
      aged: (rows, before) => rows.withIndex("by_day", (q) => q.lt("day", dayOf(before))),
    },
  },
  callerSpending: {
    keep: {
      days: 2,
      why: "a day's parts end with the day",
      aged: (rows, before) => rows.withIndex("by_day_and_holder", (q) => q.lt("day", dayOf(before))),
    },
  },
  slots: { keep: "48 rows at most, each taken over when its holder was lost" },
  refusedParts: { keep: "a few rows per gateway that was ever set" },
};
