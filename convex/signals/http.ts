import * as z from "zod";
import { internal } from "../_generated/api";
import type { Id } from "../_generated/dataModel";
import type { ActionCtx } from "../_generated/server";
import { needsWhileEmpty, optional } from "../lib/env";
import { failureOf } from "../lib/errors";
import { EXAMPLE_TIME, EXAMPLE_TX, EXAMPLE_USER } from "../lib/http/described";
import { endpoint, type MountedEndpoint } from "../lib/http/endpoint";
import { absentWhenEmpty, optionalUserId, wholeNumber, wholeNumberOr } from "../lib/http/input";
import type { Caller } from "../lib/limits/callers";
import { charge } from "../lib/limits/charges";
import { deadlines } from "../lib/outside/deadlines";
import { awaitAs } from "../lib/cache";
import { DAY, dayOf, iso, SECOND, wholeMinute } from "../lib/time";
import { awaitDelivery } from "../messenger/notices";
import { todayNotice } from "./cards";
import { issuedStatement, linked } from "./chain";
import { standingOf } from "./model";
import { recordOf } from "./record";
import { isIssueTime, TOKENS, type Token } from "./rules";
import {
  anchorShape,
  chainHead,
  eventContent,
  publicSignal,
  signalEvent,
  signalStats,
  signalToken,
  standing,
} from "./shapes";
import type { Signal } from "./tables";
import { sheetOf, signalView } from "./views";

/** The signals, their history and its proof, and how today stands. */

/** The example of the API document: one signal, from issue to end, as the code makes it. */
const storedExample: Signal = {
  token: "BTC",
  day: "2026-01-05",
  signal: "BUY",
  entry: 97_250,
  tp1: 98_200,
  tp2: 99_100,
  sl: 96_300,
  confidence: 68,
  reasoning: "Funding has cooled while spot demand holds, and the hourly trend points up.",
  model: "claude-haiku-4.5",
  promptVersion: "signal-4",
  price: { usd: 97_250, source: "coinbase", observedAt: Date.UTC(2026, 0, 5, 9, 29, 40) },
  costBps: 15,
  generatedAt: Date.parse(EXAMPLE_TIME),
  expiresAt: Date.UTC(2026, 0, 5, 15, 30),
  status: "WIN",
  evaluatedUntil: Date.UTC(2026, 0, 5, 12),
  closedAt: Date.UTC(2026, 0, 5, 12),
  exitPrice: 98_200,
  pnlPercent: 0.976864,
  gapMinutes: 0,
  decidedBy: "candle",
};
export const signalExample = signalView(storedExample);
const statsExample = recordOf([storedExample]);

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
  const stored = await ctx.runQuery(internal.signals.recaps.ofDay, { day });
  if (stored.review !== null || stored.signals.length === 0) return stored;
  if (optional("LLM_GATEWAY_API_KEY") === undefined) return stored;
  try {
    const ticket = await ctx.runMutation(internal.signals.recaps.begin, { day, caller });
    await awaitAs(ctx, caller, ticket, Math.max(0, patienceMs));
  } catch (error) {
    const code = failureOf(error)?.code;
    if (code !== "upstream" && code !== "rate_limited") throw error;
  }
  return ctx.runQuery(internal.signals.recaps.ofDay, { day });
}

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
    const { signals, record } = await ctx.runQuery(internal.signals.history.page, {
      token: token ?? null,
      limit: limit ?? (days === undefined ? USUALLY_LISTED : MOST_LISTED),
      ...(days === undefined ? {} : { since: wholeMinute(Date.now()) - days * DAY }),
      ...(before === undefined ? {} : { before: Date.parse(before) }),
    });
    return {
      signals: signals.map(signalView),
      stats: record,
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
    "How today's signals (UTC) stand, and how yesterday ended; with an AI-written review of today (null if the model cannot be reached).",
  description:
    "Before 08:00 UTC today has no signals: `notice` says so, and `yesterday` has the results of the day before. The review is written once per day and set of outcomes, and shared.",
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
      notice: "Today ETH has got no signal.",
      yesterday: { date: "2026-01-04", ...standingOf([]) },
      review: "Bitcoin reached its first target within three hours; no Ethereum signal was issued.",
      generatedAt: "2026-01-05T20:00:00.000Z",
    },
  },
  input: z.object({ userId: recipient }),
  returns: standing.extend({
    date: z.string().describe("Today, a UTC day, 2026-11-20"),
    byToken: z.object({ BTC: tokenRecord, ETH: tokenRecord }),
    notice: z.string().nullable().describe("What of today has not been issued; null: nothing is missing"),
    yesterday: standing.extend({ date: z.string() }),
    review: z.string().nullable().describe("Of today"),
    generatedAt: z.iso.datetime(),
    messengerSent,
  }),
  handler: async (ctx, { userId }, { caller }) => {
    await assertIssued(ctx, undefined);
    const now = Date.now();
    const day = dayOf(now);
    const before = dayOf(now - DAY);
    // Both waits with their margins end before the caller's deadline.
    const patience = deadlines.caller - (userId === undefined ? 0 : deadlines.delivery + MARGIN_MS);
    const { signals, review } = await reviewedDay(ctx, day, caller, patience);
    const yesterday = await ctx.runQuery(internal.signals.recaps.ofDay, { day: before });
    const byToken = (token: Token) => {
      const own = signals.filter((signal) => signal.token === token);
      const [signal] = own;
      return { ...standingOf(own), signal: signal === undefined ? null : signalView(signal) };
    };
    const answer = {
      date: day,
      ...standingOf(signals),
      byToken: { BTC: byToken("BTC"), ETH: byToken("ETH") },
      notice: todayNotice(signals, isIssueTime(now)),
      yesterday: { date: before, ...standingOf(yesterday.signals) },
      review,
      generatedAt: iso(Date.now()),
    };
    if (userId === undefined) return answer;
    const send = () => ctx.runMutation(internal.signals.history.sendRecap, { userId });
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

const fromNumber = wholeNumberOr(0, 0, Number.MAX_SAFE_INTEGER);
const limit = wholeNumberOr(100, 1, 500).describe("1 to 500, default 100");

const {
  token: _token,
  day: _day,
  content: exampleContent,
  ...exampleLink
} = linked(null, issuedStatement(storedExample));

const proof: MountedEndpoint = endpoint({
  methods: ["GET"],
  path: "/signals/proof",
  summary:
    "The tamper-evident record of signals: hash-chained events and the chain's head. `npm run verify-signals` checks it.",
  description:
    "An event when a signal is issued, when it is closed, and for each day on which a token got none, in order. Each carries the SHA-256 of its content and of the event before it, so nothing can be changed or left out without changing the head that cards have published.",
  example: {
    input: { after: 0, limit: 1 },
    output: {
      events: [{ ...exampleLink, content: eventContent.parse(JSON.parse(exampleContent)) }],
      head: { sequence: 2, hash: "9c".repeat(32) },
      count: 1,
    },
  },
  input: z.object({
    after: fromNumber.describe("Only events behind this sequence number, default 0"),
    limit,
  }),
  returns: z.object({
    events: z.array(signalEvent),
    head: chainHead.nullable().describe("null before the first event"),
    count: z.number().describe("How many events this answer holds"),
  }),
  handler: async (ctx, input) => {
    const { events, head } = await ctx.runQuery(internal.signals.history.chain, input);
    const shown = events.map(({ token: _, day: __, content, ...link }) => {
      return { ...link, content: eventContent.parse(JSON.parse(content)) };
    });
    return { events: shown, head, count: events.length };
  },
});

const anchors: MountedEndpoint = endpoint({
  methods: ["GET"],
  path: "/signals/anchors",
  summary:
    "Where the signal record was anchored: transactions on Base that hold the chain's head, once a day. `npm run verify-signals -- URL --rpc …` checks them.",
  description:
    "Each transaction's data are the text `signal record SEQUENCE HASH`. By nonce, all that the account has signed from a nonce on; an account sends nothing else. Empty where the operator anchors nothing.",
  example: {
    input: { from: 0, limit: 1 },
    output: {
      addresses: ["0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"],
      address: "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
      anchors: [
        {
          nonce: 0,
          sequence: 12,
          hash: "9c".repeat(32),
          status: "confirmed",
          txHashes: [EXAMPLE_TX],
          signedAt: "2026-01-05T15:00:00.000Z",
        },
      ],
      count: 1,
    },
  },
  input: z.object({
    address: absentWhenEmpty(
      z.string().regex(/^0x[0-9a-fA-F]{40}$/, "must be an address: 0x and 40 hex digits"),
    ).describe("Of the accounts in `addresses`, the first when left out"),
    from: fromNumber.describe("Only from this nonce on, default 0"),
    limit,
  }),
  returns: z.object({
    addresses: z.array(z.string()).describe("Every account that the anchor has ever used, oldest first"),
    address: z.string().nullable().describe("The account of this answer; null if there is none"),
    anchors: z.array(anchorShape),
    count: z.number().describe("How many transactions this answer contains"),
  }),
  handler: async (ctx, { address = null, ...range }) => {
    const page = await ctx.runQuery(internal.signals.anchors.page, { address, ...range });
    return { ...page, count: page.anchors.length };
  },
});

const everySignal = async (ctx: ActionCtx) =>
  (await ctx.runQuery(internal.signals.history.all, {})).map(signalView);

const asJson: MountedEndpoint = endpoint({
  methods: ["GET"],
  path: "/signals/export.json",
  summary: "Every signal with its levels, times and outcome, oldest first.",
  description: "All of them in one answer, for those who compute on them; /mcp/signals/history has pages.",
  example: { input: {}, output: { signals: [signalExample], count: 1 } },
  input: z.object({}),
  returns: z.object({ signals: z.array(publicSignal), count: z.int() }),
  handler: async (ctx) => {
    const signals = await everySignal(ctx);
    return { signals, count: signals.length };
  },
});

const asSheet: MountedEndpoint = endpoint({
  methods: ["GET"],
  path: "/signals/export.csv",
  summary: "Every signal as comma-separated values, oldest first.",
  description: "As RFC 4180 has them, with a line of names, for spreadsheets.",
  media: "text/csv",
  input: z.object({}),
  returns: z.string(),
  handler: async (ctx) => sheetOf(await everySignal(ctx)),
});

export const signalEndpoints: MountedEndpoint[] = [latest, history, recap, proof, anchors, asJson, asSheet];
