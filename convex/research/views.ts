import { pick } from "convex-helpers";
import * as z from "zod";
import { publicSource, toPublicSources, EXAMPLE_TIME } from "../platform/http/input";
import { removeCitations } from "../lib/text/strings";
import { toIso, MINUTE } from "../lib/time";
import type { Shift, ShiftStatus } from "./model";
import type { ResearchResult } from "./tables";

/** ResearchResult and ResearchJob in the form of answers. */

const outlook = z.enum(["bullish", "bearish", "neutral"]);

export const resultFields = {
  fullAnalysis: z.string().describe("400 to 600 words, citations apart; `[1]` cites the source of that id"),
  shortSummary: z
    .string()
    .describe("At most 100 characters, first the outlook's mark: 🟢, 🔴 or 🟡; its sources are listed"),
  marketOutlook: outlook,
  impacts: z.array(
    z.object({
      title: z.string(),
      detail: z.string(),
      sentiment: outlook,
      confidence: z.number().describe("0 to 1"),
    }),
  ),
  sources: z.array(publicSource).describe("The facts that the texts cite"),
  missing: z
    .array(z.object({ collector: z.string(), subject: z.string(), reason: z.string() }))
    .describe("What could not be collected, and why"),
};

/** A stored result in the form of answers. */
export function toPublicResult(result: ResearchResult) {
  return { ...result, sources: toPublicSources(result.sources) };
}

/** A stored on-demand result in the form of answers. @param stored `fetchedAt` in epoch ms. */
export function toPublicSnapshot({ fetchedAt, result }: { fetchedAt: number; result: ResearchResult }) {
  return { ...toPublicResult(result), generatedAt: toIso(fetchedAt) };
}

/** The part of the example that several endpoints share, shortened. */
export const resultExample = {
  fullAnalysis: "Bitcoin trades at $97,250.50 [1], +1.42 % [2] … (400 to 600 words)",
  shortSummary: "🟢 Bitcoin leads a broad advance",
  marketOutlook: "bullish" as const,
  impacts: [
    {
      title: "BTC",
      detail: "Funding stays near +0.0013 % [3] per hour, which leaves room for buyers.",
      sentiment: "bullish" as const,
      confidence: 0.72,
    },
  ],
  sources: [
    {
      id: 1,
      name: "CoinGecko",
      url: "https://www.coingecko.com/en/coins/bitcoin",
      observedAt: EXAMPLE_TIME,
      says: "BTC price: $97,250.50",
    },
  ],
  missing: [{ collector: "news", subject: "", reason: "coindesk.com did not answer in time" }],
};

const undelivered = z
  .string()
  .optional()
  .describe("Why it did not reach the messenger; absent when it did, or is still on its way");

const shift = z.object({
  jobId: z.string(),
  token: z.string().nullable().describe("The focus token; null for the whole market"),
  startedAt: z.iso.datetime(),
  stopsAt: z.iso.datetime(),
});
const progress = {
  interimReportsCount: z.int().describe("0 to 2"),
  finalReportSent: z.boolean().describe("Whether its final report was made"),
  collectionsCount: z.int().describe("Collections begun so far"),
};

export const shiftStatus = z.object({
  activeJob: shift
    .extend({
      ...progress,
      status: z.string().describe("active"),
      elapsedMinutes: z.int(),
      remainingMinutes: z.int(),
    })
    .nullable()
    .describe("The newest active shift; null when none is active"),
  lastJob: shift
    .extend({
      ...progress,
      status: z.string().describe("completed after its eight hours, or stopped"),
      endedAt: z.iso.datetime(),
      error: z.string().nullable().describe("Why there is no final report, if it failed"),
    })
    .nullable()
    .describe("The shift that ended last, and how; null before the first has ended"),
  activeJobs: z
    .array(shift)
    .describe("All active shifts, newest first: every start makes a new one, on the same token too"),
  deliveryProblem: z
    .string()
    .nullable()
    .describe("Why the latest card did not reach the messenger; null when it did, or none was sent"),
  recentReports: z.array(
    z.object({
      type: z.enum(["interim", "final"]),
      generatedAt: z.iso.datetime(),
      outlook: z.string().describe("bullish, bearish or neutral"),
      summary: z.string().describe("The report's shortSummary, without the marks of its sources"),
      messengerSent: z.boolean().describe("Whether it was delivered to the messenger"),
      deliveryProblem: undelivered,
    }),
  ),
});

/** The public status of a user's shifts. @param at Epoch ms. */
export function toPublicShiftStatus(
  { active, ended, reports, ...rest }: ShiftStatus,
  at: number,
): z.output<typeof shiftStatus> {
  const [newest] = active;
  return {
    activeJob:
      newest === undefined
        ? null
        : {
            ...toPublicShiftFields(newest),
            ...getProgress(newest),
            elapsedMinutes: Math.floor((at - newest.startedAt) / MINUTE),
            remainingMinutes: Math.max(0, Math.ceil((newest.stopsAt - at) / MINUTE)),
          },
    lastJob: ended && {
      ...toPublicShiftFields(ended),
      ...getProgress(ended),
      endedAt: toIso(ended.endedAt ?? ended.stopsAt),
      error: ended.error ?? null,
    },
    activeJobs: active.map(toPublicShiftFields),
    recentReports: reports.map(({ generatedAt, result, ...report }) => ({
      ...pick(report, ["type", "messengerSent", "deliveryProblem"]),
      generatedAt: toIso(generatedAt),
      outlook: result.marketOutlook,
      summary: removeCitations(result.shortSummary),
    })),
    ...rest,
  };
}

const toPublicShiftFields = ({ _id, token, startedAt, stopsAt }: Shift) => ({
  jobId: _id,
  token: token === "" ? null : token,
  startedAt: toIso(startedAt),
  stopsAt: toIso(stopsAt),
});

const getProgress = (shift: Shift) =>
  pick(shift, ["status", "interimReportsCount", "finalReportSent", "collectionsCount"]);

export const snapshotShape = z.object({ ...resultFields, generatedAt: z.iso.datetime() });

export const reportShape = z.object({
  _id: z.string(),
  jobId: z.string(),
  userId: z.string().describe("A stable pseudonym"),
  type: z.enum(["interim", "final"]),
  generatedAt: z.int().describe("Epoch ms"),
  result: z.object(resultFields),
  messengerSent: z.boolean().describe("Whether it was delivered to the messenger"),
  deliveryProblem: undelivered,
  jobToken: z.string().describe("The shift's focus token; empty for the whole market"),
  jobStartedAt: z.int().describe("Epoch ms"),
});

export const reportExample: z.output<typeof reportShape> = {
  _id: "j97d2e4f6g8h0j2k4m6n8p0q2r4s6t8v",
  jobId: "k57c8q0v3w5x7y9z1a3b5c7d9e1f3g5h",
  userId: "usr_5f2c9a7d1e3b",
  type: "final",
  generatedAt: 1_767_634_212_000,
  result: resultExample,
  messengerSent: true,
  jobToken: "ETH",
  jobStartedAt: 1_767_605_400_000,
};
