import * as z from "zod/mini";
import { lines, outlook, time } from "../format";
import { QUICK_MS, reads, SLOW_MS, tool, type Tool } from "../tool";

const result = z.object({
  fullAnalysis: z.string(),
  shortSummary: z.string(),
  marketOutlook: outlook,
  impacts: z.array(
    z.object({ title: z.string(), detail: z.string(), sentiment: outlook, confidence: z.number() }),
  ),
  sources: z.array(z.object({ id: z.number(), name: z.string(), says: z.string() })),
});

function resultLines({
  fullAnalysis,
  shortSummary,
  marketOutlook,
  impacts,
  sources,
}: z.output<typeof result>): string[] {
  const impact = ({ title, detail, sentiment, confidence }: (typeof impacts)[number]) =>
    `- ${title}: ${sentiment}, confidence ${Math.round(confidence * 100)}%. ${detail}`;
  const cited = sources.map(({ id, name, says }) => `[${id}] ${name}: ${says}`);
  const sourceLines = cited.length === 0 ? [] : ["", "Sources:", ...cited];
  return [
    shortSummary,
    `Outlook: ${marketOutlook}`,
    "",
    ...impacts.map(impact),
    "",
    fullAnalysis,
    ...sourceLines,
  ];
}

const runResearch = tool({
  name: "run_research",
  title: "Research now",
  description:
    "One research snapshot of the market, or of the token given, or an answer to a question (query, whose focus is the first token that it names): outlook, key signals with confidence (0 to 1), and an analysis of 400 to 600 words. Cached for 15 minutes. The first one on a focus may take half a minute; if it took too long, call again. A report written for one buyer costs 1.00 USDC: GET /agent/research/paid of the service says how.",
  endpoint: { method: "POST", path: "/mcp/research" },
  hints: reads("live"),
  repeats: "freely",
  structured: false,
  timeoutMs: SLOW_MS,
  view: z.object({ result: z.extend(result, { generatedAt: z.string() }) }),
  text: ({ result }) => lines(`Research of ${time(result.generatedAt)}`, ...resultLines(result)),
});

const startResearch = tool({
  name: "start_research",
  title: "Start a research shift",
  description:
    "Starts an autonomous research shift of 8 hours, on the whole market or on the token given: data every 30 minutes, reports after 2.5, 5 and 8 hours, delivered to the user's messenger where they have set one. Every call starts another shift, at most 10 at a time. userId is the person's secret id: use the one they already have. startedAt and stopsAt are epoch milliseconds.",
  endpoint: { method: "POST", path: "/mcp/research/start" },
  hints: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
  repeats: "keyed",
  structured: true,
  timeoutMs: QUICK_MS,
  view: z.object({ jobId: z.string(), startedAt: z.number(), stopsAt: z.number() }),
  text: ({ jobId, startedAt, stopsAt }) =>
    lines(
      `The research shift has started: ${time(startedAt)} to ${time(stopsAt)}.`,
      "Reports come after 2.5, 5 and 8 hours; get_research_status shows them with the same userId.",
      `Job: ${jobId}`,
    ),
});

const stopResearch = tool({
  name: "stop_research",
  title: "Stop research shifts",
  description:
    "Stops all active research shifts of the user for good; their unfinished reports are dropped, finished ones stay.",
  endpoint: { method: "POST", path: "/mcp/research/stop" },
  hints: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  repeats: "freely",
  structured: true,
  timeoutMs: QUICK_MS,
  view: z.object({ stopped: z.number() }),
  text: ({ stopped }) => {
    if (stopped === 0) return "No research shift was active.";
    return stopped === 1 ? "The research shift was stopped." : `${stopped} research shifts were stopped.`;
  },
});

const getResearchStatus = tool({
  name: "get_research_status",
  title: "Research status",
  description:
    "The user's newest active research shift (null when there is none) with elapsed and remaining minutes, the shift that ended last and how, and their latest three reports.",
  endpoint: { method: "GET", path: "/mcp/research/status" },
  hints: reads("stored"),
  repeats: "freely",
  structured: true,
  timeoutMs: QUICK_MS,
  view: z.object({
    activeJob: z.nullable(
      z.object({
        jobId: z.string(),
        stopsAt: z.string(),
        elapsedMinutes: z.number(),
        remainingMinutes: z.number(),
        interimReportsCount: z.number(),
      }),
    ),
    lastJob: z.optional(
      z.nullable(
        z.object({
          jobId: z.string(),
          status: z.string(),
          endedAt: z.string(),
          finalReportSent: z.boolean(),
          error: z.nullable(z.string()),
        }),
      ),
    ),
    recentReports: z.array(
      z.object({
        type: z.string(),
        generatedAt: z.string(),
        outlook,
        summary: z.string(),
        messengerSent: z.boolean(),
      }),
    ),
  }),
  text: ({ activeJob: job, lastJob: last, recentReports }) =>
    lines(
      job === null
        ? "No research shift is active."
        : `A research shift is active: ${duration(job.elapsedMinutes)} elapsed, ${duration(job.remainingMinutes)} to go (until ${time(job.stopsAt)}), ${job.interimReportsCount} of 2 interim reports. Job: ${job.jobId}`,
      last
        ? `The last shift to end was ${last.status} at ${time(last.endedAt)}, ${last.finalReportSent ? "with" : "without"} a final report${last.error === null ? "" : ` (${last.error})`}. Job: ${last.jobId}`
        : null,
      recentReports.length === 0 ? "There are no reports yet." : "Latest reports:",
      ...recentReports.map(
        ({ type, generatedAt, outlook, summary, messengerSent }) =>
          `- ${time(generatedAt)}, ${type}, ${outlook}: ${summary}${messengerSent ? "" : " (not delivered to the messenger)"}`,
      ),
    ),
});

function duration(minutes: number): string {
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

const getResearchReport = tool({
  name: "get_research_report",
  title: "Latest research report",
  description:
    "The latest report that a research shift wrote on the token, from any user's shift; with jobId (from start_research or get_research_status) that shift's latest, the way to reports on the whole market.",
  endpoint: { method: "GET", path: "/mcp/research/report" },
  hints: reads("stored"),
  repeats: "freely",
  structured: false,
  timeoutMs: QUICK_MS,
  view: z.object({ type: z.string(), generatedAt: z.number(), jobToken: z.optional(z.string()), result }),
  text: ({ type, generatedAt, jobToken, result }) =>
    lines(
      `${type === "final" ? "Final" : "Interim"} report on ${jobToken ? jobToken : "the whole market"}, ${time(generatedAt)}`,
      ...resultLines(result),
    ),
});

export const researchTools: Tool[] = [
  runResearch,
  startResearch,
  stopResearch,
  getResearchStatus,
  getResearchReport,
];
