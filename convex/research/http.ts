import * as z from "zod";
import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { isSet, getSiteUrl } from "../lib/env";
import { AppError } from "../lib/errors";
import {
  EXAMPLE_TIME,
  EXAMPLE_USER,
  IDEMPOTENCY_KEY,
  optionalUnlessBlank,
  maxLengthString,
  chatId,
  idempotencyKey,
  optionalToken,
  optionalUserId,
  userId,
  withAliases,
} from "../platform/http/input";
import { defineEndpoint, type MountedEndpoint } from "../platform/http/endpoint";
import { log } from "../lib/log";
import { toBillingSubject } from "../platform/limits/callers";
import { readThrough } from "../platform/refreshes";
import { toIso } from "../lib/time";
import { derivePseudonym } from "../lib/crypto";
import { getStoredResult, toResearchKey, parseResult } from "./model";
import { getFreshMs } from "./onDemand";
import {
  reportExample,
  reportShape,
  resultExample,
  shiftStatus,
  toPublicResult,
  toPublicSnapshot,
  toPublicShiftStatus,
  snapshotShape,
} from "./views";

/** It loads the sources, so it is imported only for a request with a focus. */
const loadListing = () => import("../market/listing");

/** For endpoints that take a focus. */
const UNKNOWN = "No source knows the token.";
const UNSURE = "The token was given by name, and the sources that could resolve the name cannot be reached.";

const snapshot: MountedEndpoint = defineEndpoint({
  methods: ["POST"],
  path: "/mcp/research",
  access: "shown",
  summary:
    "On-demand research snapshot, on a token or the whole market, cached for 15 minutes, for 2 if a source was missing.",
  description:
    "The first call on a focus collects facts, asks models and writes a report in which every figure is held against the fact it cites. That may take longer than 28 seconds: then the last good result is the answer, else 502, and a repeat joins the work under way.",
  needs: ["LLM_GATEWAY_API_KEY"],
  errors: {
    not_found: UNKNOWN,
    rate_limited: "A new result was needed, and this caller has asked for too many.",
    upstream: "The market data or the LLM gateway failed, or took too long with nothing older to show.",
  },
  example: {
    input: { token: "BTC" },
    output: { success: true, result: { ...resultExample, generatedAt: EXAMPLE_TIME } },
  },
  input: z.object({
    userId: optionalUserId,
    token: optionalToken,
  }),
  returns: z.object({
    success: z.literal(true),
    result: snapshotShape,
    answer: z.string().optional().describe("In place of research: why a request for a private key has none"),
  }),
  handler: async (ctx, { token }, { caller }) => {
    const { isKeyRequest, SECURITY_MESSAGE } = await import("../lib/keyRequests");
    if (token !== undefined && isKeyRequest(token)) {
      return { success: true as const, result: buildKeyRefusal(SECURITY_MESSAGE), answer: SECURITY_MESSAGE };
    }
    const { resolveFocus } = await loadListing();
    const focus = await resolveFocus(ctx, token, caller);
    const { fetchedAt, body } = await readThrough(ctx, {
      upstream: "The LLM gateway",
      freshMs: (stored) => getFreshMs(parseResult(stored)),
      caller,
      key: toResearchKey(focus),
      begin: () => ctx.runMutation(internal.research.reports.startResearch, { focus, caller }),
    });
    return { success: true as const, result: toPublicSnapshot({ fetchedAt, result: parseResult(body) }) };
  },
});

/** The refusal of a request for a private key, in the shape of a result. */
function buildKeyRefusal(message: string): z.output<typeof snapshotShape> {
  return {
    fullAnalysis: message,
    shortSummary: "🟡 Private keys are never shown",
    marketOutlook: "neutral",
    impacts: [],
    sources: [],
    missing: [],
    generatedAt: toIso(Date.now()),
  };
}

const start: MountedEndpoint = defineEndpoint({
  methods: ["POST"],
  path: "/mcp/research/start",
  summary: "Starts an 8-hour research shift: data every 30 minutes, reports at 2.5 h, 5 h and 8 h.",
  needs: ["LLM_GATEWAY_API_KEY", "SENTIMENT_API_KEY"],
  limit: "shift",
  // A start counts against its user's limit.
  access: "shifts",
  description:
    "Every start makes a new shift, up to 10 at a time; a start notice and the reports go to the messenger. Send an Idempotency-Key so that a repeated call returns the first shift; with another token or chat it is refused.",
  headers: IDEMPOTENCY_KEY,
  errors: {
    not_found: UNKNOWN,
    conflict: "The idempotency key was used for another request.",
    rate_limited: "Too many starts, or 10 shifts of this user are active already.",
    upstream: UNSURE,
  },
  example: {
    input: { userId: EXAMPLE_USER, token: "ETH", messengerChatId: "123456789" },
    output: {
      success: true,
      jobId: "k57c8q0v3w5x7y9z1a3b5c7d9e1f3g5h",
      startedAt: 1_767_605_400_000,
      stopsAt: 1_767_634_200_000,
    },
  },
  input: withAliases(
    { telegramChatId: "messengerChatId" },
    z.object({
      userId,
      token: optionalToken,
      messengerChatId: optionalUnlessBlank(chatId),
      idempotencyKey,
    }),
  ),
  returns: z.object({
    success: z.literal(true),
    jobId: z.string(),
    startedAt: z.int().describe("Epoch ms"),
    stopsAt: z.int().describe("Epoch ms: startedAt + 8 hours"),
  }),
  handler: async (ctx, { userId, token, messengerChatId }, call) => {
    const { resolveFocus } = await loadListing();
    const started = await ctx.runMutation(internal.research.shifts.startShift, {
      userId,
      token: await resolveFocus(ctx, token),
      ...(messengerChatId === undefined ? {} : { messengerChatId }),
      ...(call.idempotencyKey === undefined ? {} : { idempotencyKey: call.idempotencyKey }),
      byId: call.caller.credential === "id",
      paidBy: toBillingSubject(call.caller),
    });
    log.info("research.started", { requestId: call.caller.requestId, shiftId: started.jobId });
    return { success: true as const, ...started };
  },
});

const stop: MountedEndpoint = defineEndpoint({
  methods: ["POST"],
  path: "/mcp/research/stop",
  summary: "Stops all of the user's active shifts.",
  description: "Work in progress for a stopped shift is dropped, and its unsent cards are cancelled.",
  access: "shifts",
  example: { input: { userId: EXAMPLE_USER }, output: { success: true, stopped: 1 } },
  input: z.object({ userId }),
  returns: z.object({
    success: z.literal(true),
    stopped: z.int().describe("How many shifts were stopped"),
  }),
  handler: async (ctx, { userId }) => {
    const stopped = await ctx.runMutation(internal.research.shifts.stop, { userId });
    return { success: true as const, stopped };
  },
});

const status: MountedEndpoint = defineEndpoint({
  methods: ["GET"],
  path: "/mcp/research/status",
  summary:
    "The user's active shifts, the newest one in full, the one that ended last, and their latest three reports.",
  description:
    "`activeJob` is null once the shift is over: `lastJob` says how it ended. `deliveryProblem` says why its cards do not arrive.",
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
      },
      lastJob: null,
      activeJobs: [],
      deliveryProblem: null,
      recentReports: [],
    },
  },
  input: z.object({ userId }),
  returns: shiftStatus,
  handler: async (ctx, { userId }) => {
    const found = await ctx.runQuery(internal.research.shifts.getShiftStatus, { userId });
    // A transaction's time may be slightly ahead of this one.
    return toPublicShiftStatus(found, Math.max(Date.now(), found.active[0]?.startedAt ?? 0));
  },
});

/** The latest report on a token, or of a shift; `null` if there is none. */
async function readReport(
  ctx: ActionCtx,
  of: { token: string } | { jobId: string },
): Promise<z.output<typeof reportShape> | null> {
  const row = await ctx.runQuery(internal.research.reports.getLatestReport, { of });
  return row === null
    ? null
    : { ...row, result: toPublicResult(row.result), userId: derivePseudonym(row.userId) };
}

/** The reports on a subject, for pages and pictures. `at` is ISO 8601. */
export type Writing = { kind: string; at: string; result: Written };
export type Written = Omit<z.output<typeof snapshotShape>, "generatedAt" | "missing">;

/**
 * The last shift report and the last on-demand result, however old, the newer first. Shift reports on the whole market are
 * their users' own.
 * @param focus A symbol, or "" for the whole market.
 */
export async function readWritings(ctx: ActionCtx, focus: string): Promise<Writing[]> {
  const [report, stored] = await Promise.all([
    focus === "" ? null : readReport(ctx, { token: focus }),
    getStoredResult(ctx, focus),
  ]);
  const writings: Writing[] = [];
  if (report !== null) {
    const kind = report.type === "final" ? "Final report of a shift" : "Interim report of a shift";
    writings.push({ kind, at: toIso(report.generatedAt), result: report.result });
  }
  if (stored !== null) {
    const { generatedAt: at, ...result } = toPublicSnapshot(stored);
    writings.push({ kind: "On-demand result", at, result });
  }
  return writings.sort((a, b) => Date.parse(b.at) - Date.parse(a.at));
}

const report: MountedEndpoint = defineEndpoint({
  methods: ["GET"],
  path: "/mcp/research/report",
  summary:
    "The latest shift report on a token, from any user's shift, or of one shift; its user appears under a pseudonym.",
  description:
    "Interim reports come 2.5 and 5 hours into a shift, the final one after 8; this is whichever was written last.",
  errors: {
    not_found: "There is no report on this token, or of this shift, yet, or no source knows the token.",
    upstream: UNSURE,
  },
  example: { input: { token: "ETH" }, output: reportExample },
  input: z
    .object({
      token: optionalToken.describe("The shift's focus token. Either this or jobId, which goes first."),
      jobId: optionalUnlessBlank(maxLengthString(64)).describe(
        "The shift, as its start returned it: the only way to get reports of a shift on the whole market.",
      ),
    })
    .refine(({ token, jobId }) => token !== undefined || jobId !== undefined, {
      path: ["token"],
      message: "or jobId is required: the focus token of a shift, or the id that its start returned",
    }),
  returns: reportShape,
  handler: async (ctx, { token = "", jobId }, { caller }) => {
    const latest = await readReport(ctx, jobId === undefined ? { token } : { jobId });
    if (latest !== null) return latest;
    if (jobId !== undefined)
      throw new AppError(
        "not_found",
        `The shift ${jobId} has no research report: its first comes 2.5 hours after its start, and GET /mcp/research/status lists the user's shifts`,
      );
    // The token may be a name, or not exist.
    const { resolveFocus } = await loadListing();
    const focus = await resolveFocus(ctx, token, caller);
    const found = focus === token ? null : await readReport(ctx, { token: focus });
    if (found === null)
      throw new AppError("not_found", `There is no research report on ${focus} yet. ${describeWays()}`);
    return found;
  },
});

/** For callers of a missing report, how to get one: the free ways first. */
const describeWays = (): string =>
  "POST /mcp/research answers at once, and POST /mcp/research/start has reports written over 8 hours; both are free" +
  (isSet("PLATFORM_WALLET_ADDRESS")
    ? `. One of your own can be bought for 1.00 USDC on Base: POST ${getSiteUrl()}/agent/research/paid`
    : "");

export const researchEndpoints: MountedEndpoint[] = [snapshot, start, stop, status, report];
