import * as z from "zod";
import { internal } from "../_generated/api";
import { AppError } from "../lib/errors";
import { endpoint, type MountedEndpoint } from "../lib/http";
import {
  absentWhenEmpty,
  chatId,
  idempotencyKey,
  optionalToken,
  token,
  userId,
  withAliases,
} from "../lib/input";
import { readThrough } from "../lib/refreshes";
import { iso, MINUTE } from "../lib/time";
import { pseudonymOf } from "../users/model";

/** On-demand results are cached this long. */
const CACHE_MS = 15 * MINUTE;

const outlook = z.enum(["bullish", "bearish", "neutral"]);

/** What a caller sees of a ResearchResult. */
export const resultFields = {
  fullAnalysis: z.string().describe("400 to 600 words"),
  shortSummary: z.string().describe("At most 100 characters, first the outlook's mark: 🟢, 🔴 or 🟡"),
  marketOutlook: outlook,
  impacts: z.array(
    z.object({
      title: z.string(),
      detail: z.string(),
      sentiment: outlook,
      confidence: z.number().describe("0 to 1"),
    }),
  ),
};

const sourceState = z.object({
  state: z.enum(["live", "earlier", "missing"]),
  asOf: z.iso.datetime().nullable(),
});

const snapshot: MountedEndpoint = endpoint({
  methods: ["POST"],
  path: "/mcp/research",
  summary: "On-demand research snapshot, cached for 15 minutes per focus.",
  needs: ["LLM_GATEWAY_API_KEY"],
  input: z.object({ userId: absentWhenEmpty(userId), token: optionalToken }),
  returns: z.object({
    success: z.literal(true),
    result: z.object({
      ...resultFields,
      generatedAt: z.iso.datetime(),
      sources: z
        .object({ market: sourceState, sentiment: sourceState, onchain: sourceState })
        .describe("What the result was written from"),
    }),
  }),
  handler: async (ctx, { token }, { caller }) => {
    const focus = token ?? "";
    const stored = await readThrough(ctx, {
      freshMs: CACHE_MS,
      read: () => ctx.runQuery(internal.research.onDemand.current, { focus }),
      begin: () => ctx.runMutation(internal.research.onDemand.begin, { focus, caller }),
    });
    const shown = ({ state, asOf }: { state: "live" | "earlier" | "missing"; asOf: number | null }) => ({
      state,
      asOf: asOf === null ? null : iso(asOf),
    });
    const { market, sentiment, onchain } = stored.sources;
    const sources = { market: shown(market), sentiment: shown(sentiment), onchain: shown(onchain) };
    return {
      success: true as const,
      result: { ...stored.result, generatedAt: iso(stored.fetchedAt), sources },
    };
  },
});

const start: MountedEndpoint = endpoint({
  methods: ["POST"],
  path: "/mcp/research/start",
  summary: "Starts an 8-hour research shift: data every 30 minutes, reports at 2.5 h, 5 h and 8 h.",
  needs: ["LLM_GATEWAY_API_KEY", "SENTIMENT_API_KEY"],
  limit: "shift",
  input: withAliases(
    { telegramChatId: "messengerChatId" },
    z.object({
      userId,
      token: optionalToken,
      messengerChatId: absentWhenEmpty(chatId),
      idempotencyKey,
    }),
  ),
  returns: z.object({
    success: z.literal(true),
    jobId: z.string(),
    startedAt: z.number().describe("Epoch ms"),
    stopsAt: z.number().describe("Epoch ms"),
  }),
  handler: async (ctx, { userId, token, messengerChatId, idempotencyKey }, call) => {
    const key = call.idempotencyKey ?? idempotencyKey;
    const started = await ctx.runMutation(internal.research.shifts.start, {
      userId,
      ...(token === undefined ? {} : { token }),
      ...(messengerChatId === undefined ? {} : { messengerChatId }),
      ...(key === undefined ? {} : { idempotencyKey: key }),
    });
    return { success: true as const, ...started };
  },
});

const stop: MountedEndpoint = endpoint({
  methods: ["POST"],
  path: "/mcp/research/stop",
  summary: "Stops all of the user's active shifts.",
  needs: [],
  input: z.object({ userId }),
  returns: z.object({
    success: z.literal(true),
    stopped: z.number().describe("How many shifts were stopped"),
  }),
  handler: async (ctx, { userId }) => {
    const stopped = await ctx.runMutation(internal.research.shifts.stop, { userId });
    return { success: true as const, stopped };
  },
});

const status: MountedEndpoint = endpoint({
  methods: ["GET"],
  path: "/mcp/research/status",
  summary: "The user's newest active shift and latest three reports.",
  needs: [],
  input: z.object({ userId }),
  returns: z.object({
    activeJob: z
      .object({
        jobId: z.string(),
        status: z.string(),
        startedAt: z.iso.datetime(),
        stopsAt: z.iso.datetime(),
        elapsedMinutes: z.number(),
        remainingMinutes: z.number(),
        interimReportsCount: z.number(),
        finalReportSent: z.boolean(),
      })
      .nullable(),
    recentReports: z.array(
      z.object({
        type: z.enum(["interim", "final"]),
        generatedAt: z.iso.datetime(),
        outlook: z.string(),
        summary: z.string(),
        messengerSent: z.boolean(),
      }),
    ),
  }),
  handler: async (ctx, { userId }) => {
    const { activeJob, recentReports } = await ctx.runQuery(internal.research.shifts.status, { userId });
    const now = Date.now();
    return {
      activeJob: activeJob && {
        ...activeJob,
        startedAt: iso(activeJob.startedAt),
        stopsAt: iso(activeJob.stopsAt),
        elapsedMinutes: Math.floor((now - activeJob.startedAt) / MINUTE),
        remainingMinutes: Math.max(0, Math.ceil((activeJob.stopsAt - now) / MINUTE)),
      },
      recentReports: recentReports.map((report) => ({ ...report, generatedAt: iso(report.generatedAt) })),
    };
  },
});

const report: MountedEndpoint = endpoint({
  methods: ["GET"],
  path: "/mcp/research/report",
  summary:
    "The latest shift report on a token, whoever's shift it comes from; its user appears under a pseudonym.",
  needs: [],
  input: z.object({ token }),
  returns: z.object({
    _id: z.string(),
    jobId: z.string(),
    userId: z.string().describe("A stable pseudonym"),
    type: z.enum(["interim", "final"]),
    generatedAt: z.number().describe("Epoch ms"),
    result: z.object(resultFields),
    messengerSent: z.boolean(),
    jobToken: z.string(),
    jobStartedAt: z.number().describe("Epoch ms"),
  }),
  handler: async (ctx, { token }) => {
    const row = await ctx.runQuery(internal.research.publishing.latest, { token });
    if (row === null) throw new AppError("not_found", `There is no research report on ${token} yet`);
    return { ...row, userId: pseudonymOf(row.userId) };
  },
});

export const researchEndpoints: MountedEndpoint[] = [snapshot, start, stop, status, report];
