import * as z from "zod";
import { internal } from "../_generated/api";
import { EXAMPLE_TIME, EXAMPLE_USER } from "../lib/examples";
import { endpoint, type MountedEndpoint } from "../lib/http";
import { userId } from "../lib/input";
import { iso, MINUTE } from "../lib/time";

/** How a user's shifts are doing. */

export const researchStatus: MountedEndpoint = endpoint({
  methods: ["GET"],
  path: "/mcp/research/status",
  summary: "The user's active shifts, the newest one in full, and their latest three reports.",
  description:
    "Where a shift's sources fail, `lastCollection` says which and why; where its cards do not arrive, `deliveryProblem` does.",
  needs: [],
  example: {
    input: { userId: EXAMPLE_USER },
    output: {
      activeJob: {
        jobId: "k57c8q0v3w5x7y9z1a3b5c7d9e1f3g5h",
        status: "active",
        startedAt: EXAMPLE_TIME,
        stopsAt: "2026-01-05T17:30:00.000Z",
        elapsedMinutes: 155,
        remainingMinutes: 325,
        interimReportsCount: 1,
        finalReportSent: false,
        token: "ETH",
        collectionsCount: 6,
        lastCollection: {
          at: "2026-01-05T12:00:10.000Z",
          failed: [{ source: "sentiment", error: "The sentiment model did not answer in time" }],
        },
      },
      activeJobs: [
        {
          jobId: "k57c8q0v3w5x7y9z1a3b5c7d9e1f3g5h",
          token: "ETH",
          startedAt: EXAMPLE_TIME,
          stopsAt: "2026-01-05T17:30:00.000Z",
        },
      ],
      deliveryProblem: null,
      recentReports: [
        {
          type: "interim",
          generatedAt: "2026-01-05T12:00:20.000Z",
          outlook: "bullish",
          summary: "🟢 Bitcoin leads a broad advance as exchange balances fall",
          messengerSent: true,
        },
      ],
    },
  },
  input: z.object({ userId }),
  returns: z.object({
    activeJob: z
      .object({
        jobId: z.string(),
        status: z.string().describe("active"),
        startedAt: z.iso.datetime(),
        stopsAt: z.iso.datetime(),
        elapsedMinutes: z.int(),
        remainingMinutes: z.int(),
        interimReportsCount: z.int().describe("0 to 2"),
        finalReportSent: z.boolean(),
        token: z.string().nullable().describe("The focus token; null for the whole market"),
        collectionsCount: z.int().describe("Collections begun so far"),
        lastCollection: z
          .object({
            at: z.iso.datetime(),
            failed: z.array(z.object({ source: z.string(), error: z.string() })),
          })
          .nullable()
          .describe(
            "The latest finished collection, and which of its three sources failed; null before the first",
          ),
      })
      .nullable()
      .describe("The newest active shift; null when none is active"),
    activeJobs: z
      .array(
        z.object({
          jobId: z.string(),
          token: z.string().nullable(),
          startedAt: z.iso.datetime(),
          stopsAt: z.iso.datetime(),
        }),
      )
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
        summary: z.string().describe("The report's shortSummary"),
        messengerSent: z.boolean().describe("Whether it was delivered to the messenger"),
      }),
    ),
  }),
  handler: async (ctx, { userId }) => {
    const { activeJob, activeJobs, deliveryProblem, recentReports } = await ctx.runQuery(
      internal.research.shifts.status,
      { userId },
    );
    const now = Date.now();
    return {
      activeJob: activeJob && {
        ...activeJob,
        startedAt: iso(activeJob.startedAt),
        stopsAt: iso(activeJob.stopsAt),
        elapsedMinutes: Math.floor((now - activeJob.startedAt) / MINUTE),
        remainingMinutes: Math.max(0, Math.ceil((activeJob.stopsAt - now) / MINUTE)),
        lastCollection: activeJob.lastCollection && {
          ...activeJob.lastCollection,
          at: iso(activeJob.lastCollection.at),
        },
      },
      activeJobs: activeJobs.map(({ startedAt, stopsAt, ...job }) => ({
        ...job,
        startedAt: iso(startedAt),
        stopsAt: iso(stopsAt),
      })),
      deliveryProblem,
      recentReports: recentReports.map((report) => ({ ...report, generatedAt: iso(report.generatedAt) })),
    };
  },
});
