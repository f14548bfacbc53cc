import { defineTable } from "convex/server";
import { v, type Infer } from "convex/values";
import { literals } from "../lib/literals";
import type { Doc } from "../_generated/dataModel";
import type { DatabaseWriter } from "../_generated/server";
import { vCitedSource } from "../figures/facts";
import { indexCreatedBefore, indexOfUser, type RecordsOf, queryBy } from "../platform/records";
import { vCallersPart } from "../platform/limits/callers";
import { vCoin, vRowSource } from "../market/tables";

// `tests/validators` compares these with the shapes in `research/writing/prompts`.

export const vReportText = v.object({
  fullAnalysis: v.string(),
  shortSummary: v.string(),
  marketOutlook: literals("bullish", "bearish", "neutral"),
  impacts: v.array(
    v.object({
      title: v.string(),
      detail: v.string(),
      sentiment: literals("bullish", "bearish", "neutral"),
      confidence: v.number(),
    }),
  ),
});

export const vSentiment = v.object({
  overall: v.string(),
  tokens: v.array(
    v.object({
      token: v.string(),
      sentiment: literals("bullish", "bearish", "neutral"),
      buzz: v.number(),
      narrative: v.string(),
    }),
  ),
});

export const vOnchainOutput = v.object({
  summary: v.string(),
  signals: v.array(
    v.object({
      token: v.string(),
      kind: literals("whale_movement", "unusual_volume", "smart_money"),
      direction: literals("bullish", "bearish", "neutral"),
      detail: v.string(),
    }),
  ),
});

/** A source without an answer, and the reason. */
export const vMissingSource = v.object({ collector: v.string(), subject: v.string(), reason: v.string() });

export const vResearchResult = v.object({
  ...vReportText.fields,
  /** The facts that the texts cite, as `[1]`. */
  sources: v.array(vCitedSource),
  missing: v.array(vMissingSource),
});

const vReportKind = v.union(v.literal("interim1"), v.literal("interim2"), v.literal("final"));

const vMarketOutput = v.object({
  trending: v.array(vCoin),
  /** The largest moves by 24-hour change, in either direction, largest first. */
  movers: v.array(
    v.object({ symbol: v.string(), price: v.number(), change24h: v.number(), source: vRowSource }),
  ),
  /**
   * The gateway's answer, deflated: each report of a shift reads the rows again. Absent on demand if the sources had no
   * gap; a text in rows of earlier versions.
   */
  marketDataRaw: v.optional(v.union(v.bytes(), v.string())),
});

export const vSentimentOutput = v.object({
  ...vSentiment.fields,
  /** Whether the answer came without a live search: then it does not describe the present. */
  degraded: v.boolean(),
  /** Addresses of the cited posts. */
  citations: v.array(v.string()),
});

/** The models among the sources of a collection, with their public names. */
export const MODELS = {
  market: "market data",
  sentiment: "social sentiment",
  onchain: "on-chain signals",
} as const;

export type Model = keyof typeof MODELS;
export const vModel = v.union(v.literal("market"), v.literal("sentiment"), v.literal("onchain"));

/** The models' answers; `missing` has the reason for an absent one. */
export const vAnswers = v.object({
  market: v.optional(vMarketOutput),
  sentiment: v.optional(vSentimentOutput),
  onchain: v.optional(vOnchainOutput),
  /** Includes missing facts, which have rows of their own. */
  missing: v.array(vMissingSource),
});

export type ResearchResult = Infer<typeof vResearchResult>;
export type MissingSource = Infer<typeof vMissingSource>;
/** The written texts of a result. */
export type Texts = Infer<typeof vReportText>;
export type MarketOutlook = Texts["marketOutlook"];
export type ReportKind = Infer<typeof vReportKind>;
export type Answers = Infer<typeof vAnswers>;

export const researchTables = {
  /**
   * Research shifts (the spec's ResearchJob; `_id` is the `jobId`). Written by `research/shifts`, by
   * `research/observations` (its data points), and by `research/reports` when the final one ends it. Its progress
   * follows from its reports. Kept as the user's history; an anonymous user's is deleted after half a year.
   */
  shifts: defineTable({
    userId: v.string(),
    /** "" for the whole market. */
    token: v.string(),
    messengerChatId: v.optional(v.string()),
    /** The bot for its cards: for a chat that is not the owner's own and was set by `userId` alone. */
    bot: v.optional(v.literal("default")),
    idempotencyKey: v.optional(v.string()),
    startedAt: v.number(),
    stopsAt: v.number(),
    status: v.union(v.literal("active"), v.literal("completed"), v.literal("stopped")),
    endedAt: v.optional(v.number()),
    /** Its data points, oldest first. */
    observationIds: v.array(v.id("observations")),
    /** When the next one is due, while it is active. */
    nextCollectionAt: v.number(),
    /** When the next report is due; absent while one is being written, and after the final one. */
    nextReportAt: v.optional(v.number()),
    /** The billing subject of its calls. Signed-in users' work has a queue apart from anonymous callers'. */
    paidBy: vCallersPart,
  })
    .index("by_status_and_nextCollectionAt", ["status", "nextCollectionAt"])
    .index("by_status_and_nextReportAt", ["status", "nextReportAt"])
    .index("by_userId_and_status", ["userId", "status", "startedAt"])
    .index("by_userId_and_startedAt", ["userId", "startedAt"])
    .index("by_userId_and_idempotencyKey", ["userId", "idempotencyKey"])
    .index("by_class", ["paidBy.class"]),

  /**
   * The sources' answers on one focus (a token, or "") at one time; shared by every shift and report of that focus.
   * Written once by `research/observations`, when all of them have answered or failed. Deleted after a month.
   */
  observations: defineTable({
    focus: v.string(),
    /** `waiting` for its sources, or `done`. */
    state: v.union(v.literal("waiting"), v.literal("done")),
    /** When its state began. */
    at: v.number(),
    ...vAnswers.fields,
  }).index("by_focus", ["focus", "at"]),

  /**
   * Reports of shifts (the spec's ResearchReport): one for each checkpoint that was reached, from the moment it is due.
   * Written by `research/reports`. Kept as long as their shift.
   */
  reports: defineTable({
    jobId: v.id("shifts"),
    userId: v.string(),
    kind: vReportKind,
    state: v.union(v.literal("writing"), v.literal("done"), v.literal("failed")),
    /** When its state began. */
    generatedAt: v.number(),
    /** "" for a shift over the whole market. */
    jobToken: v.string(),
    jobStartedAt: v.number(),
    result: v.optional(vResearchResult),
    /** The reason why it could not be written. */
    error: v.optional(v.string()),
    runId: v.optional(v.id("agentRuns")),
    /** The outcome of its card in the messenger. */
    messengerSent: v.boolean(),
    deliveryProblem: v.optional(v.string()),
  })
    .index("by_userId_and_state", ["userId", "state", "generatedAt"])
    .index("by_jobToken_and_state", ["jobToken", "state", "generatedAt"])
    .index("by_jobId", ["jobId"]),
};

/** Deletes an ended shift with its reports and their runs: at most one of each kind. */
async function eraseShift(db: DatabaseWriter, { _id: shiftId }: Doc<"shifts">): Promise<void> {
  const reports = await queryBy(db.query("reports"), "jobId", shiftId).take(vReportKind.members.length);
  for (const { _id, runId } of reports) {
    if (runId !== undefined && (await db.get("agentRuns", runId)) !== null)
      await db.delete("agentRuns", runId);
    await db.delete("reports", _id);
  }
  await db.delete("shifts", shiftId);
}

export const researchRecords: RecordsOf<typeof researchTables> = {
  reports: {
    keep: "as long as their shift, or until the user deletes their data",
    ownedBy: { rows: indexOfUser("by_userId_and_state"), section: "reports", onDeletion: "go" },
  },
  shifts: {
    keep: {
      days: 180,
      why: "strangers could fill the disk with shifts that nobody has asked for since; a signed-in user's are their history",
      aged: (rows, before) =>
        rows.withIndex("by_class", (q) => q.eq("paidBy.class", "anonymous").lt("_creationTime", before)),
      ended: ({ status }) => status !== "active",
      // The user may have signed in since, or received money.
      stranger: ({ userId }) => userId,
      erase: eraseShift,
    },
    ownedBy: {
      rows: indexOfUser("by_userId_and_status"),
      section: "shifts",
      onDeletion: { whenEnded: ({ status }) => status !== "active" },
    },
    withheld: ["paidBy", "observationIds"],
  },
  observations: {
    keep: { days: 30, why: "the evidence of reports, which are kept", aged: indexCreatedBefore },
  },
};
