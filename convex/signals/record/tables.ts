import { defineTable } from "convex/server";
import { v, type Infer, type ObjectType } from "convex/values";
import { ofUser, waiting, type RecordsOf } from "../../lib/records/records";
import { vPriceSource } from "../../prices/tables";
import { pairFields, totalsFields, vCalibrated, vKeptArms } from "../statistics/rows";
import { vPersonEvent, vProposal, vShadowEvent, vSignalEvent, vStanding } from "../validators";
import { vComparison, vEnd, vOutcome } from "../trade/rows";

export const vToken = v.union(v.literal("BTC"), v.literal("ETH"));
export const vLabToken = v.union(v.literal("BTC"), v.literal("ETH"), v.literal("SOL"));
export const vSide = v.union(v.literal("BUY"), v.literal("SELL"), v.null());

/** What totals are of: a token's signals, all, or those of one side, or issued while the price moved so far. */
const vScope = v.union(
  ...[...vLabToken.members, v.literal("ALL"), v.literal("BUY"), v.literal("SELL")],
  ...[v.literal("calm"), v.literal("usual"), v.literal("wild")],
);
export type Scope = Infer<typeof vScope>;

/**
 * Who asks for signals: for the daily ones, which are delivered, or in the lab for shadows, which nobody is sent. `people`:
 * nobody does; signed-in users propose them to arms of their own.
 */
export const vDesk = v.union(v.literal("daily"), v.literal("lab"), v.literal("people"));
export type Desk = Infer<typeof vDesk>;
/** The desks that ask models. */
export const vAsking = v.union(v.literal("daily"), v.literal("lab"));
export type Asking = Infer<typeof vAsking>;

/** The arm of the daily desk, whichever model writes its signals. */
export const DAILY = "daily";

/** The measured price at which a signal is entered. */
export const vPriceAtIssue = v.object({
  usd: v.number(),
  source: vPriceSource,
  observedAt: v.number(),
});

/** What is asked for: an arm has one signal a slot and token. */
const slotFields = {
  desk: vDesk,
  /** `daily`; in the lab a model and a prompt, `claude-haiku-4.5@signal-2`; of people `arm-` and 16 hex digits. */
  arm: v.string(),
  /** When the period began that it is for, epoch ms: the UTC day, of a shadow the hour. */
  slot: v.number(),
  token: vLabToken,
};
export type Slot = ObjectType<typeof slotFields>;

/** What becomes of a signal from its issue on. */
const courseFields = {
  status: v.union(v.literal("PENDING"), vEnd),
  expiresAt: v.number(),
  /** The stated confidence as outcomes before this signal calibrate it. */
  calibrated: vCalibrated,
  /** Until when the tracker knows the path (epoch ms), and the minutes before that which no candle covers. */
  walkedUntil: v.number(),
  gapMinutes: v.number(),
  /** The sides of the control arms; `null` for HOLD, for a shadow, and where the price of a day ago was not known. */
  coin: vSide,
  momentum: vSide,
  /** How its controls ended, from its expiry on. */
  compared: v.optional(vComparison),
  /** Which event of its desk's chain issued it. Absent: from before this was kept. */
  event: v.optional(v.number()),
  /** The tracker still looks at it: it is pending, or its controls are to be compared once it has expired. */
  open: v.boolean(),
  ...vOutcome.omit("status", "gapMinutes").partial().fields,
};
export type Course = keyof typeof courseFields;

const signalFields = {
  ...slotFields,
  ...vProposal.fields,
  generatedAt: v.number(),
  /** What answered, as the gateway names it. */
  model: v.string(),
  promptVersion: v.string(),
  /** Whose totals its confidence is calibrated by, and learn from how it ends: see `signals/arms/arms`. */
  record: v.string(),
  price: vPriceAtIssue,
  /** What getting in and out costs, in basis points of the stake. */
  costBps: v.number(),
  /** Of the price when it was issued, percent a year. Absent: not known, or from before this was kept. */
  volatility: v.optional(v.number()),
  ...courseFields,
};
export const vSignal = v.object(signalFields);
export type Signal = Infer<typeof vSignal>;
export type Proposal = Pick<Signal, keyof typeof vProposal.fields>;

const vWeekSignal = vSignal.pick("signal", "entry", "confidence", "status").extend({
  pnlPercent: v.union(v.number(), v.null()),
  // Rows of before have none.
  costBps: v.optional(v.number()),
});

/** What a week came to, as it stood when its recap was opened. */
const weekFields = {
  /** By UTC day, Monday to Sunday. */
  days: v.record(
    v.string(),
    v.object({ BTC: v.union(vWeekSignal, v.null()), ETH: v.union(vWeekSignal, v.null()) }),
  ),
  ...vStanding.fields,
  averagePnlPercent: v.union(v.number(), v.null()),
  bestPnlPercent: v.union(v.number(), v.null()),
  worstPnlPercent: v.union(v.number(), v.null()),
};

export const vWeek = v.object(weekFields);
export type Week = Infer<typeof vWeek>;
export type WeekSignal = Infer<typeof vWeekSignal>;

export const vLabArm = v.object({
  arm: v.string(),
  model: v.string(),
  promptVersion: v.string(),
  /** Epoch ms. */
  since: v.number(),
});

const vOwnedArm = v.object({
  arm: v.string(),
  /** Absent: its owner has left. */
  userId: v.optional(v.string()),
  /** What its owner wants it to be called; nobody else sees that before the operator has let it stand. */
  name: v.optional(v.string()),
  nameState: v.union(v.literal("waiting"), v.literal("shown"), v.literal("refused")),
  /** The how manieth of its owner's it is, from 1 on. */
  number: v.number(),
  since: v.number(),
  /** Epoch ms: nothing is proposed to it any more. */
  endedAt: v.optional(v.number()),
  /** It has enough outcomes to be listed. */
  listed: v.boolean(),
});

export type OwnedArm = Infer<typeof vOwnedArm>;

/** Why there is no signal: the model proposed nothing usable; it, or a measured price, was out of reach for too long; the lab's share of the budget was spent. */
export const vMissed = v.union(v.literal("refused"), v.literal("failed"), v.literal("budget"));
export type Missed = Infer<typeof vMissed>;

/** An event of a desk's chain. */
export const vDeskEvent = v.union(
  v.object({ desk: v.literal("daily"), event: vSignalEvent }),
  v.object({ desk: v.literal("lab"), event: vShadowEvent }),
  v.object({ desk: v.literal("people"), event: vPersonEvent }),
);
export type DeskEvent = Infer<typeof vDeskEvent>;
export type EventOf = { [Of in Desk]: Extract<DeskEvent, { desk: Of }>["event"] };

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

  /** The work of issuing them, one row a slot and token. Written by `signals/desk/runs`; kept like the signals. */
  signalRuns: defineTable({
    ...slotFields,
    desk: vAsking,
    state: v.union(v.literal("writing"), v.literal("issued"), vMissed),
    /** Which one is under way, or was the last. */
    attempt: v.number(),
    /** Its signal stands on a card already. */
    announced: v.boolean(),
    /** Why there is no signal, or why the last attempt came to nothing. */
    error: v.optional(v.string()),
  })
    .index("by_slot", ["arm", "slot", "token"])
    .index("by_desk", ["desk", "slot"])
    .index("by_state", ["state", "desk"]),

  /**
   * The tamper-evident record: a chain of each desk's, append-only. Written by `signals/record/chain` in the mutation that
   * makes the change. Kept.
   */
  signalEvents: defineTable(vDeskEvent)
    .index("by_sequence", ["desk", "event.sequence"])
    .index("by_kind", ["desk", "event.kind", "event.sequence"]),

  /**
   * Totals of an arm's closed signals, by token and in all. A promoted arm's daily signals have totals of their own
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
   * Days that are not in the totals' blocks and in the pairs' yet, one row an arm and day, of all arms of the lab one. Written by
   * `signals/arms/days` when the first signal is asked for or issued, deleted when the day counts.
   */
  openDays: defineTable({
    arm: v.string(),
    /** When the day begins, epoch ms. */
    slot: v.number(),
    /** When it is looked at next, epoch ms. Absent: of the daily signals and of the lab, whose ticks know. */
    dueAt: v.optional(v.number()),
  })
    .index("by_arm", ["arm", "slot"])
    .index("by_dueAt", ["dueAt"]),

  /**
   * Every arm that the lab has ever asked, and signed-in users' own arms. Written by `signals/arms/arms`,
   * `signals/people` and `signals/record/changes` (listed). Kept: an arm that could be taken back would only ever have
   * won. When its user leaves, it belongs to nobody.
   */
  signalArms: defineTable(v.union(vLabArm, vOwnedArm))
    .index("by_arm", ["arm"])
    .index("by_model", ["model"])
    .index("by_name", ["name"])
    .index("by_userId", ["userId", "number"])
    .index("by_nameState", ["nameState"])
    .index("by_listed", ["listed", "since"]),

  /** What an arm of the lab has shown against another, day by day, both ways round. Written by `signals/arms/days`. Kept. */
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
    /** `null`: the model was out of reach; absent while it is being written. */
    review: v.optional(v.union(v.string(), v.null())),
    model: v.optional(v.string()),
    generatedAt: v.optional(v.number()),
  })
    .index("by_week", ["week"])
    .index("by_state", ["state"]),
};

/** Nobody looks at a shadow of this age: the totals have it, and the chain says all that it said. */
const SHADOW_DAYS = 35;

export const signalRecords: RecordsOf<typeof signalTables> = {
  signals: {
    keep: {
      days: SHADOW_DAYS,
      why: "totals and chain hold what shadows came to; the daily signals are the track record and stay",
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
  signalEvents: { keep: "the tamper-evident record: it proves nothing with a gap" },
  signalTotals: { keep: "three or four rows for each arm" },
  signalPairs: { keep: "a row for each two arms" },
  openDays: { keep: "they go when their day counts" },
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
