import { defineTable } from "convex/server";
import { v } from "convex/values";
import { ofUser, waiting, type RecordsOf } from "../../lib/records/records";
import { pairFields, totalsFields, vKeptArms } from "../statistics/rows";
import {
  signalFields,
  slotFields,
  vAsking,
  vDeskEvent,
  vLabArm,
  vMissed,
  vOwnedArm,
  vScope,
  weekFields,
} from "./rows";

export const signalTables = {
  /**
   * Trading signals of all arms. Written by `signals/record/changes` when they are issued, when they end and when they
   * are compared with their controls, each time with an event, and by `signals/outcomes/tracker` (how far the path was
   * followed). The daily ones are kept as the track record, shadows for 35 days.
   */
  signals: defineTable(signalFields)
    .index("by_slot", ["arm", "slot", "token"])
    .index("by_arm", ["arm", "generatedAt"])
    .index("by_token", ["arm", "token", "generatedAt"])
    .index("by_desk", ["desk", "slot"])
    .index("by_open", ["desk", "open", "token", "generatedAt"]),

  /**
   * The work of issuing them, one row for each slot and token. Written by `signals/desk/runs`; kept like the signals.
   */
  signalRuns: defineTable({
    ...slotFields,
    desk: vAsking,
    state: v.union(v.literal("writing"), v.literal("issued"), vMissed),
    /** The attempt that is under way, or the last one. */
    attempt: v.number(),
    /** Whether its signal is on a card already. */
    announced: v.boolean(),
    /** Why there is no signal, or why the last attempt failed. */
    error: v.optional(v.string()),
  })
    .index("by_slot", ["arm", "slot", "token"])
    .index("by_desk", ["desk", "slot"])
    .index("by_state", ["state", "desk"]),

  /**
   * The tamper-evident record: an append-only chain for each desk. Written by `signals/record/chain` in the mutation
   * that makes the change. Kept.
   */
  signalEvents: defineTable(vDeskEvent)
    .index("by_sequence", ["desk", "event.sequence"])
    .index("by_kind", ["desk", "event.kind", "event.sequence"]),

  /**
   * Totals of an arm's closed signals, by token and for all. A promoted arm's daily signals have totals of their own
   * beside those of the record. Written by `signals/record/model` in the mutation that closes a signal. Kept.
   */
  signalTotals: defineTable({
    arm: v.string(),
    scope: vScope,
    ...totalsFields,
    arms: vKeptArms,
    ...v.object(totalsFields).pick("anchored", "decided", "held", "logs", "skill").partial().fields,
  }).index("by_arm", ["arm", "scope"]),

  /**
   * Days that are not yet counted in the totals and in the pairs: one row for each arm and day, and one for all arms of
   * the lab. Written by `signals/arms/days` when the first signal is asked for or issued, deleted when the day has been
   * counted.
   */
  openDays: defineTable({
    arm: v.string(),
    /** When the day begins, epoch ms. */
    slot: v.number(),
    /** When it is checked next, epoch ms. Absent for the daily signals and the lab, whose ticks check it. */
    dueAt: v.optional(v.number()),
  })
    .index("by_arm", ["arm", "slot"])
    .index("by_dueAt", ["dueAt"]),

  /**
   * Every arm that the lab has ever asked, and signed-in users' own arms. Written by `signals/arms/arms`,
   * `signals/people` and `signals/record/changes` (listed). Kept: if arms could be taken back, only winning ones would
   * remain. When its user leaves, it belongs to nobody.
   */
  signalArms: defineTable(v.union(vLabArm, vOwnedArm))
    .index("by_arm", ["arm"])
    .index("by_model", ["model"])
    .index("by_name", ["name"])
    .index("by_userId", ["userId", "number"])
    .index("by_nameState", ["nameState"])
    .index("by_listed", ["listed", "since"]),

  /**
   * The results of an arm of the lab against another one, day by day, in both directions. Written by
   * `signals/arms/days`. Kept.
   */
  signalPairs: defineTable({ arm: v.string(), against: v.string(), ...pairFields }).index("by_against", [
    "against",
  ]),

  /** The AI's review of a day, one row per day, replaced when outcomes change. Written by `signals/recaps/reviews`. Kept. */
  signalReviews: defineTable({
    day: v.string(),
    /** The signals and outcomes it was written about. */
    outcomes: v.string(),
    review: v.string(),
    model: v.string(),
    writtenAt: v.number(),
  }).index("by_day", ["day"]),

  /** Recaps of weeks, one row per week. Written by `signals/recaps/weeks`; kept. */
  weeklyRecaps: defineTable({
    /** The week's Monday. */
    week: v.string(),
    state: v.union(v.literal("writing"), v.literal("done")),
    /** Which one is under way, or was the last. */
    attempt: v.number(),
    openedAt: v.number(),
    ...weekFields,
    /** `null` if the model could not be reached; absent while it is being written. */
    review: v.optional(v.union(v.string(), v.null())),
    model: v.optional(v.string()),
    generatedAt: v.optional(v.number()),
  })
    .index("by_week", ["week"])
    .index("by_state", ["state"]),
};

/** Nobody looks at a shadow of this age: its result is in the totals, and its contents are in the chain. */
const SHADOW_DAYS = 35;

export const signalRecords: RecordsOf<typeof signalTables> = {
  signals: {
    keep: {
      days: SHADOW_DAYS,
      why: "totals and chain contain the results of shadows; the daily signals are the track record and stay",
      aged: (rows, before) => rows.withIndex("by_desk", (q) => q.eq("desk", "lab").lt("slot", before)),
      ended: ({ status }) => status !== "PENDING",
    },
  },
  signalRuns: {
    keep: {
      days: SHADOW_DAYS,
      why: "they say why an hour has no shadow; the two rows a day of the daily signals stay",
      aged: (rows, before) => rows.withIndex("by_desk", (q) => q.eq("desk", "lab").lt("slot", before)),
      ended: ({ state }) => state !== "writing",
    },
    openWhen: {
      signals: {
        rows: [(rows) => rows.withIndex("by_state", (q) => q.eq("state", "writing").eq("desk", "daily"))],
        since: ({ _creationTime }) => _creationTime,
      },
      shadowSignals: {
        rows: [(rows) => rows.withIndex("by_state", (q) => q.eq("state", "writing").eq("desk", "lab"))],
        since: ({ _creationTime }) => _creationTime,
      },
    },
  },
  signalEvents: { keep: "the tamper-evident record: with a gap it proves nothing" },
  signalTotals: { keep: "three or four rows for each arm" },
  signalPairs: { keep: "a row for each pair of arms" },
  openDays: { keep: "they are deleted when their day has been counted" },
  signalArms: {
    keep: "a row for each arm that was ever asked, and for each of a user's: a record that could be taken back would prove nothing",
    ownedBy: {
      rows: ofUser("by_userId"),
      section: "signalArms",
      inUse: "any",
      onDeletion: {
        anonymise: async (db, row) => {
          const endedAt = "endedAt" in row ? row.endedAt : Date.now();
          await db.patch("signalArms", row._id, {
            userId: undefined,
            name: undefined,
            nameState: "refused",
            endedAt,
          });
        },
      },
    },
  },
  signalReviews: { keep: "a row a day, part of the track record" },
  weeklyRecaps: {
    keep: "a row a week, part of the track record",
    openWhen: { weeklyRecaps: waiting("by_state", "state", ["writing"], "openedAt") },
  },
};
