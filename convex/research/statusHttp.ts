import * as z from "zod";
import { internal } from "../_generated/api";
import { EXAMPLE_TIME, EXAMPLE_USER } from "../lib/http/examples";
import { endpoint, type MountedEndpoint } from "../lib/http/endpoint";
import { userId } from "../lib/http/input";
import { MINUTE } from "../lib/time";
import { activeJob, shiftStatus } from "./views";

export const researchStatus: MountedEndpoint = endpoint({
  methods: ["GET"],
  path: "/mcp/research/status",
  summary:
    "The user's active shifts, the newest one in full, the one that ended last, and their latest three reports.",
  description:
    "`activeJob` is null once the shift is over: `lastJob` says how it ended. `lastCollection` says which of a shift's sources failed, and why; `deliveryProblem` says why its cards do not arrive.",
  access: "shown",
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
      lastJob: {
        jobId: "k57a1s2d3f4g5h6j7k8l9z0x1c2v3b4n",
        token: null,
        startedAt: "2026-01-04T09:30:00.000Z",
        stopsAt: "2026-01-04T17:30:00.000Z",
        status: "completed",
        endedAt: "2026-01-04T17:32:10.000Z",
        interimReportsCount: 2,
        finalReportSent: true,
        collectionsCount: 17,
        error: null,
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
    ...shiftStatus.shape,
    activeJob: activeJob
      .extend({ elapsedMinutes: z.int(), remainingMinutes: z.int() })
      .nullable()
      .describe("The newest active shift; null when none is active"),
  }),
  handler: async (ctx, { userId }) => {
    const status = await ctx.runQuery(internal.research.shifts.status, { userId });
    const { activeJob } = status;
    if (activeJob === null) return { ...status, activeJob };
    const now = Date.now();
    // A transaction's time may be a moment ahead of this one.
    const at = Math.max(now, Date.parse(activeJob.startedAt));
    const elapsedMinutes = Math.floor((at - Date.parse(activeJob.startedAt)) / MINUTE);
    const remainingMinutes = Math.max(0, Math.ceil((Date.parse(activeJob.stopsAt) - at) / MINUTE));
    return { ...status, activeJob: { ...activeJob, elapsedMinutes, remainingMinutes } };
  },
});
