import * as z from "zod";
import { internal } from "../_generated/api";
import type { Id } from "../_generated/dataModel";
import type { ActionCtx } from "../_generated/server";
import { needsWhileEmpty, optional } from "../lib/env";
import { failureOf } from "../lib/errors";
import { EXAMPLE_USER } from "../lib/http/described";
import { endpoint, type MountedEndpoint } from "../lib/http/endpoint";
import { optionalUserId, wholeNumberOr } from "../lib/http/input";
import type { Caller } from "../lib/limits/callers";
import { charge } from "../lib/limits/charges";
import { deadlines } from "../lib/outside/deadlines";
import { awaitAs } from "../lib/cache";
import { DAY, dayOf, iso, SECOND } from "../lib/time";
import { awaitDelivery } from "../messenger/notices";
import { todayNotice } from "./cards";
import { proofEndpoints, signalExample, storedExample } from "./proof";
import { recordOf, signalView, standingOf } from "./record";
import { isIssueTime, TOKENS, type Token } from "./rules";
import { publicSignal, signalStats, signalToken, standing } from "./shapes";
import type { Signal } from "./tables";

/** The signals, their history, and how today stands. */

/** @throws AppError `not_configured` if none of these tokens has a signal and none can be issued. */
export async function assertIssued(ctx: ActionCtx, token: Token | undefined): Promise<void> {
  const tokens = token === undefined ? [...TOKENS] : [token];
  await needsWhileEmpty("LLM_GATEWAY_API_KEY", () =>
    ctx.runQuery(internal.signals.history.latest, { tokens }),
  );
}

/**
 * The signals of a UTC day as they are now, with their review if it is ready in time. The figures are answered in any
 * case: if the review is missing or the caller has asked for too many, it is `null`.
 */
export async function reviewedDay(
  ctx: ActionCtx,
  day: string,
  caller: Caller,
  patienceMs: number,
): Promise<{ signals: Signal[]; review: string | null }> {
  const stored = await ctx.runQuery(internal.signals.history.ofDay, { day });
  if (stored.review !== null || stored.signals.length === 0) return stored;
  if (optional("LLM_GATEWAY_API_KEY") === undefined) return stored;
  try {
    const ticket = await ctx.runMutation(internal.signals.history.beginReview, { day, caller });
    await awaitAs(ctx, caller, ticket, Math.max(0, patienceMs));
  } catch (error) {
    const code = failureOf(error)?.code;
    if (code !== "upstream" && code !== "rate_limited") throw error;
  }
  return ctx.runQuery(internal.signals.history.ofDay, { day });
}

const recipient = optionalUserId.describe("Whose messenger gets the card; omit for none.");
const messengerSent = z
  .boolean()
  .optional()
  .describe(
    "With `userId`: whether the card arrived while the caller waited; false for a user who has neither set a chat nor confirmed a link.",
  );
const errors = {
  rate_limited: "With `userId`: too many cards were asked for.",
  not_configured: "No signal was ever issued, and LLM_GATEWAY_API_KEY is not configured.",
};

/** Sends a card to a user, counted against their limit. */
async function sent(
  ctx: ActionCtx,
  caller: Caller,
  send: () => Promise<Id<"messages"> | null>,
): Promise<boolean> {
  await charge(ctx, "card", caller);
  const messageId = await send();
  return messageId !== null && (await awaitDelivery(ctx, messageId)) === true;
}

const latest: MountedEndpoint = endpoint({
  methods: ["GET", "POST"],
  path: "/mcp/signals/latest",
  access: "shown",
  summary:
    "The latest 1-hour signal of BTC, ETH or both; with `userId` also as a card to that user's messenger.",
  description:
    "A token gets one signal a day. With `token` the answer has only that token's key; null means that none was issued yet.",
  errors,
  example: {
    input: { token: "BTC", userId: EXAMPLE_USER },
    output: { signals: { BTC: signalExample }, messengerSent: true },
  },
  input: z.object({ token: signalToken, userId: recipient }),
  returns: z.object({
    signals: z.object({ BTC: publicSignal.nullable().optional(), ETH: publicSignal.nullable().optional() }),
    messengerSent,
  }),
  handler: async (ctx, { token, userId }, { caller }) => {
    await assertIssued(ctx, token);
    const tokens = token === undefined ? [...TOKENS] : [token];
    const rows = await ctx.runQuery(internal.signals.history.latest, { tokens });
    const signals = Object.fromEntries(
      tokens.map((one) => {
        const row = rows.find((signal) => signal.token === one);
        return [one, row === undefined ? null : signalView(row)];
      }),
    );
    if (userId === undefined) return { signals };
    const send = () => ctx.runMutation(internal.signals.history.sendLatest, { tokens, userId });
    return { signals, messengerSent: rows.length > 0 && (await sent(ctx, caller, send)) };
  },
});

const history: MountedEndpoint = endpoint({
  methods: ["GET", "POST"],
  path: "/mcp/signals/history",
  summary: "Signals, newest first, with the statistics of the whole record of one token or of both.",
  description:
    "`stats` are about all closed signals of the scope, whatever `limit`; /signals/export.json has all of them. 1.5 is 1.5 %; a rate of nothing is null. The headline is `stats.edge`.",
  errors: { not_configured: errors.not_configured },
  example: {
    input: { token: "BTC", limit: 1 },
    output: { signals: [signalExample], stats: recordOf([storedExample]), count: 1 },
  },
  input: z.object({
    token: signalToken,
    limit: wholeNumberOr(10, 1, 100).describe("1 to 100; 10 when left out"),
  }),
  returns: z.object({
    signals: z.array(publicSignal),
    stats: signalStats,
    count: z.number().describe("How many signals this answer contains"),
  }),
  handler: async (ctx, { token = null, limit }) => {
    await assertIssued(ctx, token ?? undefined);
    const { signals, record } = await ctx.runQuery(internal.signals.history.page, { token, limit });
    return { signals: signals.map(signalView), stats: record, count: signals.length };
  },
});

/** How much longer than their deadlines the waits for a review and a card may take. */
const MARGIN_MS = 2 * SECOND;

function recapOf(
  now: number,
  { signals, yesterday, review }: Record<"signals" | "yesterday", Signal[]> & { review: string | null },
) {
  const byToken = (token: Token) => {
    const own = signals.filter((signal) => signal.token === token);
    return { ...standingOf(own), signal: own.map(signalView)[0] ?? null };
  };
  return {
    date: dayOf(now),
    ...standingOf(signals),
    byToken: { BTC: byToken("BTC"), ETH: byToken("ETH") },
    notice: todayNotice(signals, isIssueTime(now)),
    yesterday: { date: dayOf(now - DAY), ...standingOf(yesterday) },
    review,
    generatedAt: iso(now),
  };
}

const recap: MountedEndpoint = endpoint({
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
    output: recapOf(Date.UTC(2026, 0, 5, 20), {
      signals: [storedExample],
      yesterday: [],
      review: "Bitcoin reached its first target within three hours; no Ethereum signal was issued.",
    }),
  },
  input: z.object({ userId: recipient }),
  returns: standing.extend({
    date: z.string().describe("Today, a UTC day, 2026-11-20"),
    byToken: z.object({
      BTC: standing.extend({ signal: publicSignal.nullable() }),
      ETH: standing.extend({ signal: publicSignal.nullable() }),
    }),
    notice: z.string().nullable().describe("What of today has not been issued; null: nothing is missing"),
    yesterday: standing.extend({ date: z.string() }),
    review: z.string().nullable().describe("Of today"),
    generatedAt: z.iso.datetime(),
    messengerSent,
  }),
  handler: async (ctx, { userId }, { caller }) => {
    await assertIssued(ctx, undefined);
    const now = Date.now();
    // Both waits with their margins end before the caller's deadline.
    const patience = deadlines.caller - (userId === undefined ? 0 : deadlines.delivery + MARGIN_MS);
    const today = await reviewedDay(ctx, dayOf(now), caller, patience);
    const yesterday = await ctx.runQuery(internal.signals.history.ofDay, { day: dayOf(now - DAY) });
    const answer = recapOf(now, { ...today, yesterday: yesterday.signals });
    if (userId === undefined) return answer;
    const send = () => ctx.runMutation(internal.signals.history.sendRecap, { userId });
    return { ...answer, messengerSent: await sent(ctx, caller, send) };
  },
});

export const signalEndpoints: MountedEndpoint[] = [latest, history, recap, ...proofEndpoints];
