import * as z from "zod";
import { internal } from "../_generated/api";
import type { Id } from "../_generated/dataModel";
import type { ActionCtx } from "../_generated/server";
import { deadlines } from "../lib/outside/deadlines";
import { EXAMPLE_USER } from "../lib/http/examples";
import { endpoint, type MountedEndpoint } from "../lib/http/endpoint";
import { absentWhenEmpty, optionalUserId, wholeNumber } from "../lib/http/input";
import { charge } from "../lib/limits/charges";
import type { Caller } from "../lib/limits/callers";
import { DAY, iso, SECOND, wholeMinute } from "../lib/time";
import { awaitDelivery } from "../messenger/delivery/arrivals";
import { assertIssued, reviewedDay } from "./answers";
import { statisticsOf } from "./statistics/figures";
import { standingOf } from "./statistics/standings";
import { signalStats, standing } from "./statistics/shapes";
import { spokenDay } from "./trade/calendar";
import { TOKENS } from "./trade/rules";
import { signalExample, statsExample, storedExample } from "./views/examples";
import { publicSignal, signalToken } from "./views/shapes";
import { signalView } from "./views/signals";

const recipient = optionalUserId.describe("Whose messenger gets the card; omit for none.");

const messengerSent = z
  .boolean()
  .optional()
  .describe(
    "With `userId`: whether the card arrived while the caller waited; false for a user who has neither set a chat nor confirmed a link.",
  );

/** The limit for cards that somebody asks for. */
const tooManyCards = "With `userId`: too many cards were asked for.";

const neverIssued = "No signal was ever issued, and LLM_GATEWAY_API_KEY is not configured.";

const latest: MountedEndpoint = endpoint({
  methods: ["GET", "POST"],
  path: "/mcp/signals/latest",
  access: "shown",
  summary:
    "The latest 1-hour signal of BTC, ETH or both; with `userId` also as a card to that user's messenger.",
  description:
    "A signal is generated once a day per token, entered at the measured price, and walked along one-minute candles until it is won, lost or, after 6 hours, expired. With `userId` the answer waits a few seconds for the card's delivery. With `token` it has only that token's key; null means that none was issued yet.",
  errors: { rate_limited: tooManyCards, not_configured: neverIssued },
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
    const of = (wanted: string) => rows.find((row) => row.token === wanted);
    const signals = Object.fromEntries(
      tokens.map((one) => {
        const row = of(one);
        return [one, row === undefined ? null : signalView(row)];
      }),
    );
    if (userId === undefined) return { signals };
    const send = () => ctx.runMutation(internal.signals.history.sendLatest, { tokens, userId });
    return { signals, messengerSent: rows.length > 0 && (await sent(ctx, caller, send)) };
  },
});

/** Signals on a page of the history. */
const [USUALLY_LISTED, MOST_LISTED] = [10, 100];

const history: MountedEndpoint = endpoint({
  methods: ["GET", "POST"],
  path: "/mcp/signals/history",
  summary: "Signals, newest first, with the statistics of the whole record of one token or of both.",
  description:
    "`stats` are about all closed signals of the scope, and do not depend on `limit` and `days`; a rate without any signal is null. 1.5 is 1.5 %. The headline is `stats.edge`: the excess over the chance of each signal's own levels, with an interval that holds at all times together.",
  errors: { not_configured: neverIssued },
  example: {
    input: { token: "BTC", limit: 1 },
    output: { signals: [signalExample], stats: statsExample, count: 1 },
  },
  input: z.object({
    token: signalToken,
    limit: absentWhenEmpty(wholeNumber(1, MOST_LISTED)).describe(
      `1 to ${MOST_LISTED}; ${USUALLY_LISTED} when left out, or ${MOST_LISTED} with days`,
    ),
    days: absentWhenEmpty(wholeNumber(1, 365)).describe(
      "Only signals of this many days before now, 1 to 365",
    ),
    before: absentWhenEmpty(z.iso.datetime("must be an ISO 8601 UTC time")).describe(
      "Only signals generated before this time: send the last `generatedAt` of a page to get the next one.",
    ),
  }),
  returns: z.object({
    signals: z.array(publicSignal),
    stats: signalStats,
    count: z.number().describe("How many signals this answer contains"),
  }),
  handler: async (ctx, { token, limit, days, before }) => {
    await assertIssued(ctx, token);
    const { signals, totals } = await ctx.runQuery(internal.signals.history.page, {
      token: token ?? null,
      limit: limit ?? (days === undefined ? USUALLY_LISTED : MOST_LISTED),
      ...(days === undefined ? {} : { since: wholeMinute(Date.now()) - days * DAY }),
      ...(before === undefined ? {} : { before: Date.parse(before) }),
    });
    return {
      signals: signals.map(signalView),
      stats: statisticsOf(totals),
      count: signals.length,
    };
  },
});

/** How much longer than their deadlines the waits for a review and a card may take. */
const MARGIN_MS = 2 * SECOND;

const tokenRecord = standing.extend({ signal: publicSignal.nullable() });

const recap: MountedEndpoint = endpoint({
  methods: ["GET", "POST"],
  path: "/mcp/signals/recap",
  access: "shown",
  summary:
    "The results of the signals of this UTC day, before 08:00 those of the day before; with an AI-written review (null if the model cannot be reached).",
  description:
    "The review is written once per day and set of outcomes, and shared. The figures are answered even if it is missing; a day without signals has no review.",
  errors: { rate_limited: tooManyCards, not_configured: neverIssued },
  example: {
    input: {},
    output: {
      date: "2026-01-05",
      ...standingOf([storedExample]),
      byToken: {
        BTC: { ...standingOf([storedExample]), signal: signalExample },
        ETH: { ...standingOf([]), signal: null },
      },
      review: "Bitcoin reached its first target within three hours; no Ethereum signal was issued.",
      generatedAt: "2026-01-05T20:00:00.000Z",
    },
  },
  input: z.object({ userId: recipient }),
  returns: standing.extend({
    date: z.string().describe("UTC day, 2026-11-20"),
    byToken: z.object({ BTC: tokenRecord, ETH: tokenRecord }),
    review: z.string().nullable(),
    generatedAt: z.iso.datetime(),
    messengerSent,
  }),
  handler: async (ctx, { userId }, { caller }) => {
    await assertIssued(ctx, undefined);
    const day = spokenDay(Date.now());
    // Both waits with their margins end before the caller's deadline.
    const patience = deadlines.caller - (userId === undefined ? 0 : deadlines.delivery + MARGIN_MS);
    const { signals, review } = await reviewedDay(ctx, day, caller, patience);
    const byToken = (token: string) => {
      const own = signals.filter((signal) => signal.token === token);
      const [signal] = own;
      return { ...standingOf(own), signal: signal === undefined ? null : signalView(signal) };
    };
    const answer = {
      date: day,
      ...standingOf(signals),
      byToken: { BTC: byToken("BTC"), ETH: byToken("ETH") },
      review,
      generatedAt: iso(Date.now()),
    };
    if (userId === undefined) return answer;
    const send = () => ctx.runMutation(internal.signals.history.sendRecap, { day, userId });
    return { ...answer, messengerSent: await sent(ctx, caller, send) };
  },
});

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

export const signalEndpoints: MountedEndpoint[] = [latest, history, recap];
