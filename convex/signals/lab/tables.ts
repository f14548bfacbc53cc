import { defineTable } from "convex/server";
import { v, type Infer } from "convex/values";
import { zodOutputToConvex } from "convex-helpers/server/zod4";
import { older, waiting, type RecordsOf } from "../../lib/records";
import { vBlocks } from "../arms";
import { vOutcomes } from "../calibration";
import { vHeld } from "../tables";
import { shadowEvent } from "./eventShapes";
import { shadowTotalsFields } from "./totals";

export const vLabToken = v.union(v.literal("BTC"), v.literal("ETH"), v.literal("SOL"));

export const vShadowEvent = zodOutputToConvex(shadowEvent);

const shadowSignalFields = {
  /** The full hour it was asked for in, epoch ms: one signal per hour, arm and token. */
  hour: v.number(),
  /** `claude-haiku-4.5@signal-2`. */
  arm: v.string(),
  token: vLabToken,
  ...vHeld.fields,
};
const vShadowSignal = v.object(shadowSignalFields);
export type ShadowSignal = Infer<typeof vShadowSignal>;

/** Nobody looks at a row of this age: the totals have it, and the chain says all that it said. */
const KEPT_DAYS = 35;

export const labTables = {
  /**
   * What writes the daily signals from a moment on; before the first row it is `LLM_MODEL` and the first prompt. Written by
   * `signals/shadow` at the operator's word, and with each outcome of a signal of its own by `signals/model`. Kept.
   */
  signalChampions: defineTable({
    arm: v.string(),
    model: v.string(),
    promptVersion: v.string(),
    /** Epoch ms. */
    since: v.number(),
    /** Of the daily signals it has written: all that their confidence is calibrated by. */
    outcomes: v.object({ BTC: vOutcomes, ETH: vOutcomes }),
  }).index("by_since", ["since"]),

  /** The lab's work, one row per hour, arm and token. Written by `signals/lab/issuing`. Dies after 35 days. */
  shadowRuns: defineTable({
    hour: v.number(),
    arm: v.string(),
    token: vLabToken,
    state: v.union(v.literal("writing"), v.literal("issued"), v.literal("missed")),
    /** Why there is no signal, or why the last attempt came to nothing. */
    error: v.optional(v.string()),
  })
    .index("by_slot", ["hour", "arm", "token"])
    .index("by_state", ["state"]),

  /**
   * Signals of the shadow arms, which nobody is sent. Written by `signals/lab/model` when issued and when they end, each time
   * with an event. Dies after 35 days.
   */
  shadowSignals: defineTable(shadowSignalFields)
    .index("by_hour", ["hour"])
    .index("by_arm_and_hour", ["arm", "hour", "token"])
    .index("by_status_and_hour", ["status", "hour"])
    .index("by_status_and_token", ["status", "token", "generatedAt"]),

  /** The shadow signals' own chain of events, append-only. Written by `signals/lab/model` in the mutation that makes the change. Kept. */
  shadowEvents: defineTable(vShadowEvent).index("by_sequence", ["sequence"]),

  /** What an arm's closed signals of a token come to. Written in the mutation that closes one. Kept. */
  shadowTotals: defineTable({ arm: v.string(), token: vLabToken, ...shadowTotalsFields }).index("by_arm", [
    "arm",
    "token",
  ]),

  /** Every arm that was ever asked, with the days it has shown. Written by `signals/lab/issuing` and `signals/lab/days`. Kept. */
  shadowArms: defineTable({
    arm: v.string(),
    model: v.string(),
    promptVersion: v.string(),
    /** Epoch ms. */
    since: v.number(),
    blocks: vBlocks,
  }).index("by_arm", ["arm"]),

  /** What an arm has shown against another, day by day, both ways round. Written by `signals/lab/days`. Kept. */
  shadowPairs: defineTable({ arm: v.string(), against: v.string(), blocks: vBlocks })
    .index("by_arm", ["arm", "against"])
    .index("by_against", ["against"]),

  /** Days that are in the arms' blocks, one row a day. Written by `signals/lab/days`. Kept. */
  shadowDays: defineTable({ day: v.string() }).index("by_day", ["day"]),
};

export const labRecords: RecordsOf<typeof labTables> = {
  signalChampions: { keep: "a row for each promotion" },
  shadowRuns: {
    keep: {
      days: KEPT_DAYS,
      why: "they say why an hour has no signal",
      aged: (rows, before) => rows.withIndex("by_slot", (q) => q.lt("hour", before)),
      ended: ({ state }) => state !== "writing",
    },
    openWhen: { shadowSignals: waiting("by_state", "state", ["writing"], "_creationTime") },
  },
  shadowSignals: {
    keep: {
      days: KEPT_DAYS,
      why: "totals and chain hold what they came to",
      aged: older("hour"),
      ended: ({ status }) => status !== "PENDING",
    },
  },
  shadowEvents: { keep: "the tamper-evident record of the shadow signals: it proves nothing with a gap" },
  shadowTotals: { keep: "three rows for each arm" },
  shadowArms: { keep: "a row for each arm that was ever asked" },
  shadowPairs: { keep: "a row for each two arms" },
  shadowDays: { keep: "a row a day; it keeps a day from counting twice" },
};
