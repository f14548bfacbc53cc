import * as z from "zod";
import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { isSet, getOptional, getRequired } from "../lib/env";
import { getErrorData } from "../lib/errors";
import { EXAMPLE_USER, optionalUserId, wholeNumberWithDefault } from "../platform/http/input";
import { defineEndpoint, type MountedEndpoint } from "../platform/http/endpoint";
import type { Caller } from "../platform/limits/callers";
import { charge } from "../platform/limits/charges";
import { awaitRefreshAs } from "../platform/refreshes";
import { DAY, formatMinute, toDay, toIso } from "../lib/time";
import { awaitDelivery } from "../messenger/notices";
import { proofEndpoints, signalExample, storedExample } from "./proof";
import { computeRecord, toPublicSignal, computeTotals } from "./record";
import { isIssueTime, getNextIssueTime, SIGNAL_TOKENS, type Token } from "./rules";
import { publicSignal, signalStats, signalToken, signalTotals } from "./shapes";
import type { Signal } from "./tables";

/** Endpoints of the signals: the latest, their history, and the recap of today. */

/** @throws AppError `not_configured` if none of these tokens has a signal and none can be issued. */
export async function assertIssued(ctx: ActionCtx, token: Token | undefined): Promise<void> {
  const tokens = token === undefined ? [...SIGNAL_TOKENS] : [token];
  if (isSet("LLM_GATEWAY_API_KEY")) return;
  const stored = await ctx.runQuery(internal.signals.history.readLatestSignals, { tokens });
  if (stored.length === 0) getRequired("LLM_GATEWAY_API_KEY");
}

/**
 * The signals of a UTC day, with their review if it is ready in time. The figures never wait for it: a late review, or
 * one that a limit refuses, is `null`.
 */
export async function getReviewedDay(
  ctx: ActionCtx,
  day: string,
  caller: Caller,
): Promise<{ signals: Signal[]; review: string | null }> {
  const stored = await ctx.runQuery(internal.signals.history.getDay, { day });
  if (stored.review !== null || stored.signals.length === 0) return stored;
  if (getOptional("LLM_GATEWAY_API_KEY") === undefined) return stored;
  try {
    const key = await ctx.runMutation(internal.signals.history.beginReview, { day, caller });
    await awaitRefreshAs(ctx, caller, key);
  } catch (error) {
    const code = getErrorData(error)?.code;
    if (code !== "upstream" && code !== "rate_limited") throw error;
  }
  return ctx.runQuery(internal.signals.history.getDay, { day });
}

const errors = { not_configured: "No signal was ever issued, and LLM_GATEWAY_API_KEY is not configured." };

/** A notice about ended or missing signals, and the time of the next ones; `null` while all are open. */
function findEndedNotice(now: number, tokens: readonly Token[], rows: readonly Signal[]): string | null {
  const said = tokens.flatMap((token) => {
    const row = rows.find((signal) => signal.token === token);
    if (row === undefined) return [`No ${token} signal has been issued yet.`];
    if (row.status === "PENDING" && row.expiresAt > now) return [];
    const outcome = row.status === "PENDING" ? "EXPIRED" : row.status;
    return [
      `The ${token} signal of ${formatMinute(row.generatedAt)} has ended (${outcome}): it is no advice for now.`,
    ];
  });
  return said.length === 0
    ? null
    : `${said.join(" ")} The next is due at ${formatMinute(getNextIssueTime(now))}.`;
}

const latest: MountedEndpoint = defineEndpoint({
  methods: ["GET", "POST"],
  path: "/mcp/signals/latest",
  access: "shown",
  summary:
    "The latest 1-hour signal of BTC, ETH or both; with `userId` also as a card to that user's messenger.",
  description:
    "A token gets one signal a day. With `token` the answer has only that token's key; null means that none was issued yet.",
  errors: { ...errors, rate_limited: "With `userId`: too many cards were asked for." },
  example: {
    input: { token: "BTC", userId: EXAMPLE_USER },
    output: {
      notice:
        "The BTC signal of 2026-01-05 09:30 UTC has ended (WIN): it is no advice for now. The next is due at 2026-01-06 08:00 UTC.",
      signals: { BTC: signalExample },
      messengerSent: true,
    },
  },
  input: z.object({
    token: signalToken,
    userId: optionalUserId.describe("Whose messenger gets the card; omit for none."),
  }),
  returns: z.object({
    notice: z
      .string()
      .optional()
      .describe("What no longer holds, or was never issued, and when the next is due; absent while all hold"),
    signals: z.object({ BTC: publicSignal.nullable().optional(), ETH: publicSignal.nullable().optional() }),
    messengerSent: z
      .boolean()
      .optional()
      .describe(
        "With `userId`: whether the card arrived while the caller waited; false for a user who has neither set a chat nor confirmed a link, and where there is no signal to send.",
      ),
  }),
  handler: async (ctx, { token, userId }, { caller }) => {
    await assertIssued(ctx, token);
    const tokens = token === undefined ? [...SIGNAL_TOKENS] : [token];
    const rows = await ctx.runQuery(internal.signals.history.readLatestSignals, { tokens });
    const signals = Object.fromEntries(
      tokens.map((one) => {
        const row = rows.find((signal) => signal.token === one);
        return [one, row === undefined ? null : toPublicSignal(row)];
      }),
    );
    const notice = findEndedNotice(Date.now(), tokens, rows);
    const answer = { ...(notice === null ? {} : { notice }), signals };
    if (userId === undefined) return answer;
    await charge(ctx, "card", caller);
    const card = await ctx.runMutation(internal.signals.history.sendLatest, { tokens, userId });
    return { ...answer, messengerSent: card !== null && (await awaitDelivery(ctx, card)) === true };
  },
});

/** Two tokens get a signal a day each, and a signal is open for hours. */
const MOST_OPEN = 4;

const history: MountedEndpoint = defineEndpoint({
  methods: ["GET", "POST"],
  path: "/mcp/signals/history",
  summary: "Signals, newest first, with the statistics of the whole record of one token or of both.",
  description:
    "`stats` are about all closed signals of the scope, whatever `limit`; /signals/export.json has all of them. 1.5 is 1.5 %; a rate of nothing is null. The headline is `stats.edge`.",
  errors,
  example: {
    input: { token: "BTC", limit: 1 },
    output: { signals: [signalExample], stats: computeRecord([storedExample]), count: 1, more: 0 },
  },
  input: z.object({
    token: signalToken,
    limit: wholeNumberWithDefault(10, 1, 100).describe("1 to 100; 10 when left out"),
  }),
  returns: z.object({
    signals: z.array(publicSignal),
    stats: signalStats,
    count: z.number().describe("How many signals this answer contains"),
    more: z.int().nonnegative().describe("How many there are beyond them"),
  }),
  handler: async (ctx, { token = null, limit }) => {
    await assertIssued(ctx, token ?? undefined);
    // The record counts the closed signals; the open ones are among the newest.
    const page = { token, limit: Math.max(limit, MOST_OPEN) };
    const { signals: newest, record } = await ctx.runQuery(internal.signals.history.listSignalPage, page);
    const signals = newest.slice(0, limit);
    const open = newest.filter(({ status }) => status === "PENDING").length;
    const more = Math.max(0, record.n + open - signals.length);
    return { signals: signals.map(toPublicSignal), stats: record, count: signals.length, more };
  },
});

/** A notice of today's missing signals; `null` once all are issued. */
function findMissingNotice(now: number, signals: readonly Signal[]): string | null {
  const missing = SIGNAL_TOKENS.filter((token) => !signals.some((one) => one.token === token));
  if (missing.length === 0) return null;
  if (!isIssueTime(now)) return "Today's signals are issued at 08:00 UTC.";
  return `Today ${missing.join(" and ")} ${missing.length === 1 ? "has" : "have"} got no signal.`;
}

function buildRecap(
  now: number,
  { signals, yesterday, review }: Record<"signals" | "yesterday", Signal[]> & { review: string | null },
) {
  const byToken = (token: Token) => {
    const ofToken = signals.filter((signal) => signal.token === token);
    return { ...computeTotals(ofToken), signal: ofToken.map(toPublicSignal)[0] ?? null };
  };
  return {
    date: toDay(now),
    ...computeTotals(signals),
    byToken: { BTC: byToken("BTC"), ETH: byToken("ETH") },
    notice: findMissingNotice(now, signals),
    yesterday: { date: toDay(now - DAY), ...computeTotals(yesterday) },
    review,
    generatedAt: toIso(now),
  };
}

const recap: MountedEndpoint = defineEndpoint({
  methods: ["GET", "POST"],
  path: "/mcp/signals/recap",
  access: "shown",
  summary:
    "How today's signals (UTC) stand, and how yesterday ended; with an AI-written review of today (null if the model cannot be reached).",
  description:
    "Before 08:00 UTC today has no signals: `notice` says so. The review is written once per day and set of outcomes, and shared.",
  errors,
  example: {
    input: {},
    output: buildRecap(Date.UTC(2026, 0, 5, 20), {
      signals: [storedExample],
      yesterday: [],
      review: "Bitcoin reached its first target within three hours; no Ethereum signal was issued.",
    }),
  },
  input: z.object({}),
  returns: signalTotals.extend({
    date: z.string().describe("Today, a UTC day, 2026-11-20"),
    byToken: z.object({
      BTC: signalTotals.extend({ signal: publicSignal.nullable() }),
      ETH: signalTotals.extend({ signal: publicSignal.nullable() }),
    }),
    notice: z.string().nullable().describe("What of today has not been issued; null: nothing is missing"),
    yesterday: signalTotals.extend({ date: z.string() }),
    review: z.string().nullable().describe("Of today"),
    generatedAt: z.iso.datetime(),
  }),
  handler: async (ctx, _, { caller }) => {
    await assertIssued(ctx, undefined);
    const now = Date.now();
    const today = await getReviewedDay(ctx, toDay(now), caller);
    const yesterday = await ctx.runQuery(internal.signals.history.getDay, { day: toDay(now - DAY) });
    return buildRecap(now, { ...today, yesterday: yesterday.signals });
  },
});

export const signalEndpoints: MountedEndpoint[] = [latest, history, recap, ...proofEndpoints];
