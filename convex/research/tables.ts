import { defineTable } from "convex/server";
import { v } from "convex/values";
import { vPayer } from "../lib/tables";
import { made, ofUser, older, waiting, type RecordsOf } from "../lib/records/records";
import type { Doc } from "../_generated/dataModel";
import type { DatabaseWriter } from "../_generated/server";
import { vMarketOutput, vResult, vReportKind, vSentimentOutput, vSourcesKept, vSourceStates } from "./shapes";
import { vOnchainOutput } from "./validators";

/** The outcome of a report's card in the messenger. */
const vDelivery = v.object({
  reportId: v.id("reports"),
  sent: v.boolean(),
  /** Why the messenger refused it. */
  error: v.optional(v.string()),
});

export const researchTables = {
  /**
   * Research shifts (the spec's ResearchJob; `_id` is the `jobId`). Written by `research/shifts`, and by
   * `research/reports` when a data point or a report moves one on. Kept as the user's history; a stranger's dies after
   * half a year.
   */
  shifts: defineTable({
    userId: v.string(),
    token: v.optional(v.string()),
    /** The token, or "" for the whole market; observations are shared by it. */
    focus: v.string(),
    messengerChatId: v.optional(v.string()),
    /** The bot for its cards: the chat is not the owner's own, and was named by `userId` alone. */
    bot: v.optional(v.literal("default")),
    /** Whether it was started by `userId` alone although the id has an owner. */
    byId: v.optional(v.boolean()),
    idempotencyKey: v.optional(v.string()),
    startedAt: v.number(),
    stopsAt: v.number(),
    status: v.union(v.literal("active"), v.literal("completed"), v.literal("stopped")),
    endedAt: v.optional(v.number()),
    /** When the next data point is due; `NEVER` if none is. */
    nextCollectionAt: v.number(),
    collectionsCount: v.number(),
    /** Identifies the exact sequence of observations so far: shifts with the same sequence share a synthesis. */
    evidence: v.string(),
    /** The next report, and when to check for it. */
    nextReport: vReportKind,
    nextReportAt: v.number(),
    /** The synthesis that the due report waits for. */
    synthesisId: v.optional(v.id("syntheses")),
    interimReportsCount: v.number(),
    finalReportSent: v.boolean(),
    error: v.optional(v.string()),
    /** The outcomes of its reports' cards: a report is long, and is not rewritten for this. */
    deliveries: v.optional(v.array(vDelivery)),
    /** Whether its user was signed in; their work waits apart from strangers'. */
    signedIn: v.optional(v.boolean()),
    /** Whose part of the day's budget its calls count in. */
    paidBy: v.optional(vPayer),
  })
    .index("by_status_and_nextCollectionAt", ["status", "nextCollectionAt"])
    .index("by_status_and_nextReportAt", ["status", "nextReportAt"])
    .index("by_userId_and_status", ["userId", "status", "startedAt"])
    .index("by_userId_and_startedAt", ["userId", "startedAt"])
    .index("by_userId_and_idempotencyKey", ["userId", "idempotencyKey"])
    .index("by_signedIn", ["signedIn"])
    .index("by_synthesisId", ["synthesisId"]),

  /**
   * What the three sources said about one focus at one time; shared by every shift and snapshot that needs it.
   * Written by `research/observations`. Dies a month after, when no data point refers to it.
   */
  observations: defineTable({
    focus: v.string(),
    /** `collecting` until all three sources have answered or failed. */
    state: v.union(v.literal("collecting"), v.literal("settled")),
    requestedAt: v.number(),
    collectedAt: v.optional(v.number()),
    sources: vSourcesKept,
    payer: v.optional(vPayer),
  })
    .index("by_focus", ["focus", "requestedAt"])
    .index("by_state", ["state"]),

  /**
   * The long part of an observation: what one source said at one time. Only writing reads it. Written by
   * `research/sayings`. Dies with the observations that refer to it.
   */
  sourceReadings: defineTable({
    market: v.optional(vMarketOutput),
    sentiment: v.optional(vSentimentOutput),
    onchain: v.optional(vOnchainOutput),
  }),

  /**
   * A shift's data points, one per 30 minutes: each refers to the observation that holds its trending coins, movers,
   * sentiment, on-chain signals and raw market data. Written by `research/reports/dataPoints`; `research/shifts`
   * deletes one whose collection a stop cut off. Dies a month after.
   */
  dataPoints: defineTable({
    shiftId: v.id("shifts"),
    observationId: v.id("observations"),
    /** 1 is the collection at the start. */
    sequence: v.number(),
    claimedAt: v.number(),
  })
    .index("by_shiftId", ["shiftId", "sequence"])
    .index("by_observationId", ["observationId"]),

  /**
   * One writing of a report from one body of evidence; every shift with the same evidence takes its report from it.
   * Written by `research/reports/syntheses`; dies a month after.
   */
  syntheses: defineTable({
    /** Report kind, focus and evidence. */
    key: v.string(),
    kind: vReportKind,
    focus: v.string(),
    /** A shift whose data points are the evidence. */
    shiftId: v.id("shifts"),
    state: v.union(v.literal("writing"), v.literal("done"), v.literal("failed")),
    startedAt: v.number(),
    result: v.optional(vResult),
    model: v.optional(v.string()),
    tokensUsed: v.optional(v.number()),
    error: v.optional(v.string()),
  }).index("by_key", ["key"]),

  /** Reports of shifts (the spec's ResearchReport). Written by `research/reports/publications`. They live as long as their shift. */
  reports: defineTable({
    jobId: v.id("shifts"),
    userId: v.string(),
    type: v.union(v.literal("interim"), v.literal("final")),
    generatedAt: v.number(),
    result: vResult,
    /** On rows of earlier versions; for the others the shift has it. */
    messengerSent: v.optional(v.boolean()),
    messengerError: v.optional(v.string()),
    /** "" for a shift over the whole market. */
    jobToken: v.string(),
    jobStartedAt: v.number(),
    synthesisId: v.id("syntheses"),
    runId: v.id("agentRuns"),
  })
    .index("by_userId", ["userId", "generatedAt"])
    .index("by_jobToken", ["jobToken", "generatedAt"])
    .index("by_jobId", ["jobId", "generatedAt"]),

  /**
   * The latest on-demand result of each focus, and of each question on it. Written by `research/results`; replaced at
   * each refresh. Dies a week after.
   */
  researchResults: defineTable({
    focus: v.string(),
    /** SHA-256 of the question that it answers (`questionHash`); absent for a result on the focus alone. */
    questionHash: v.optional(v.string()),
    generatedAt: v.number(),
    model: v.string(),
    result: vResult,
    sources: vSourceStates,
  })
    .index("by_focus", ["focus", "questionHash"])
    .index("by_generatedAt", ["generatedAt"]),
};

/** Deletes an ended shift with its data: at most one report of each kind. */
async function eraseShift(db: DatabaseWriter, { _id: shiftId }: Doc<"shifts">): Promise<void> {
  const reports = await db
    .query("reports")
    .withIndex("by_jobId", (q) => q.eq("jobId", shiftId))
    .take(vReportKind.members.length);
  for (const { _id, runId } of reports) {
    if ((await db.get("agentRuns", runId)) !== null) await db.delete("agentRuns", runId);
    await db.delete("reports", _id);
  }
  await db.delete("shifts", shiftId);
}

/** Fields of a report about its origin. */
const INWARD = ["messengerError", "synthesisId", "runId"] as const;

/** A report as readers see it. */
export const vReport = researchTables.reports.validator
  .omit(...INWARD)
  .extend({ _id: v.id("reports"), messengerSent: v.boolean() });

export const researchRecords: RecordsOf<typeof researchTables> = {
  reports: {
    keep: "as long as their shift, or until the user deletes their data",
    ownedBy: { rows: ofUser("by_userId"), section: "reports", inUse: "any", onDeletion: "go" },
  },
  shifts: {
    keep: {
      days: 180,
      why: "strangers could fill the disk with shifts that nobody has asked for since; a signed-in user's are their history",
      aged: (rows, before) =>
        rows.withIndex("by_signedIn", (q) => q.eq("signedIn", false).lt("_creationTime", before)),
      ended: ({ status }) => status !== "active",
      // The user may have signed in since, or received money.
      stranger: ({ userId }) => userId,
      erase: eraseShift,
    },
    ownedBy: {
      rows: ofUser("by_userId_and_status"),
      section: "shifts",
      inUse: "any",
      // It stays without its user: its data points may be the evidence of other users' reports, and do not show whose
      // it was.
      onDeletion: {
        whenFinal: true,
        anonymise: (db, { _id }) =>
          db.patch("shifts", _id, {
            ...{ userId: "", messengerChatId: undefined, idempotencyKey: undefined },
            paidBy: undefined,
          }),
      },
    },
    withheld: ["paidBy"],
    final: { field: "status", states: ["completed", "stopped"] },
    openWhen: {
      shiftCollections: {
        rows: [
          (rows, now) =>
            rows.withIndex("by_status_and_nextCollectionAt", (q) =>
              q.eq("status", "active").lte("nextCollectionAt", now),
            ),
        ],
        since: ({ nextCollectionAt }) => nextCollectionAt,
      },
      shiftReports: {
        rows: [
          (rows, now) =>
            rows.withIndex("by_status_and_nextReportAt", (q) =>
              q.eq("status", "active").lte("nextReportAt", now),
            ),
        ],
        since: ({ nextReportAt }) => nextReportAt,
      },
    },
  },
  // Before the observations that they refer to, so that those can go on the same day.
  dataPoints: {
    keep: {
      days: 30,
      why: "the evidence of reports, which are kept",
      aged: made,
      ended: async ({ shiftId }, _before, db) => (await db.get("shifts", shiftId))?.status !== "active",
    },
  },
  observations: {
    keep: {
      // A data point may refer to an observation that is slightly older than itself.
      days: 31,
      why: "no data point refers to it any more",
      aged: made,
      ended: async ({ _id, state }, _before, db) => {
        const point = await db
          .query("dataPoints")
          .withIndex("by_observationId", (q) => q.eq("observationId", _id))
          .first();
        return state === "settled" && point === null;
      },
    },
    final: { field: "state", states: ["settled"] },
    openWhen: { observations: waiting("by_state", "state", ["collecting"], "requestedAt") },
  },
  // An observation may have taken it over from a slightly older one.
  sourceReadings: { keep: { days: 32, why: "no observation refers to it any more", aged: made } },
  syntheses: {
    keep: {
      days: 30,
      why: "every report that was taken from it has its text",
      aged: made,
      ended: async ({ _id, state }, _before, db) => {
        const waiting = await db
          .query("shifts")
          .withIndex("by_synthesisId", (q) => q.eq("synthesisId", _id))
          .first();
        return state !== "writing" && waiting === null;
      },
    },
    final: { field: "state", states: ["done", "failed"] },
  },
  researchResults: {
    keep: {
      days: 7,
      why: "a cache of 15 minutes, used longer when research is slow",
      aged: older("generatedAt"),
    },
  },
};
