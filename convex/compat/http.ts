import * as z from "zod";
import { internal } from "../_generated/api";
import { deadlines } from "../lib/outside/deadlines";
import { endpoint, type MountedEndpoint } from "../lib/http/endpoint";
import { wholeNumberOr } from "../lib/http/input";
import { DAY, dayOf, HOUR, wholeMinute } from "../lib/time";
import { assertIssued, reviewedDay } from "../signals/http";
import { TOKENS } from "../signals/rules";
import { signalToken } from "../signals/shapes";
import { hours } from "../whales/shapes";
import {
  latestSignal,
  latestView,
  pastSignal,
  pastView,
  trackRecord,
  whaleAlert,
  whaleAlertView,
} from "./views";

/** Market endpoints under the names and in the shapes of earlier clients. Each is mapped to the endpoint of today. */

const MAX_DAYS = 365;
const DEFAULT_DAYS = 7;

const days = wholeNumberOr(DEFAULT_DAYS, 1, MAX_DAYS).describe(
  `How many days to look back, 1 to ${MAX_DAYS}; ${DEFAULT_DAYS} when left out.`,
);

/** A window's rows: a token has one signal per day, and a window may begin in the middle of one. */
function windowOf(token: "BTC" | "ETH" | undefined, days: number) {
  const limit = (days + 1) * (token === undefined ? TOKENS.length : 1);
  return { token: token ?? null, since: wholeMinute(Date.now()) - days * DAY, limit };
}

const latest: MountedEndpoint = endpoint({
  methods: ["GET"],
  path: "/signals/latest",
  summary: "The latest signals as a bare map; now /mcp/signals/latest.",
  description:
    "With `token` it has only that token's key, otherwise both; null means that no signal was issued yet. Every level is a number: a HOLD has no targets and no stop, so its entry price is used.",
  example: {
    input: { token: "BTC" },
    output: {
      BTC: {
        signalType: "BUY",
        entryPrice: 97_250,
        target1: 98_200,
        target2: 99_100,
        stopLoss: 96_300,
        confidence: 68,
        status: "PENDING",
        reasoning: "Funding has cooled while spot demand holds, and the hourly trend points up.",
      },
    },
  },
  input: z.object({ token: signalToken }),
  returns: z.object({ BTC: latestSignal.nullable().optional(), ETH: latestSignal.nullable().optional() }),
  handler: async (ctx, { token }) => {
    await assertIssued(ctx, token);
    const tokens = token === undefined ? [...TOKENS] : [token];
    const rows = await ctx.runQuery(internal.signals.history.latest, { tokens });
    return Object.fromEntries(
      tokens.map((one) => {
        const row = rows.find((signal) => signal.token === one);
        return [one, row === undefined ? null : latestView(row)];
      }),
    );
  },
});

const history: MountedEndpoint = endpoint({
  methods: ["GET"],
  path: "/signals/history",
  summary: "Signals of the last days, newest first; now /mcp/signals/history.",
  description:
    "The window is so many days back from this moment. `isWin` is null while a signal is open, and when it has expired.",
  example: {
    input: { token: "BTC", days: 7 },
    output: {
      signals: [
        {
          token: "BTC",
          signalType: "BUY",
          entryPrice: 97_250,
          isWin: true,
          status: "WIN",
          pnlPercent: 0.976864,
        },
      ],
    },
  },
  input: z.object({ token: signalToken, days }),
  returns: z.object({ signals: z.array(pastSignal) }),
  handler: async (ctx, { token, days }) => {
    await assertIssued(ctx, token);
    const { signals } = await ctx.runQuery(internal.signals.history.page, windowOf(token, days));
    return { signals: signals.map(pastView) };
  },
});

const winrates: MountedEndpoint = endpoint({
  methods: ["GET"],
  path: "/signals/winrate",
  summary: "How the signals of the last days ended; now the `stats` of /mcp/signals/history.",
  description:
    "Every figure is a number, and 0 without a signal: `total` says whether there was one. The percentages have at most two decimals.",
  example: {
    input: { token: "BTC", days: 30 },
    output: {
      n: 24,
      excess: 1.8,
      total: 24,
      wins: 13,
      losses: 8,
      winrate: 61.9,
      avgPnl: 0.31,
      bestPnl: 1.4,
      worstPnl: -1.02,
    },
  },
  input: z.object({ token: signalToken, days }),
  returns: trackRecord,
  handler: async (ctx, { token, days }) => {
    const { trackRecordView } = await import("./trackRecord");
    const { signals } = await ctx.runQuery(internal.signals.history.page, windowOf(token, days));
    return trackRecordView(signals);
  },
});

const whales: MountedEndpoint = endpoint({
  methods: ["GET"],
  path: "/whales/latest",
  summary: "Whale alerts of the last hours, the largest first, at most 500; now /mcp/whale-alerts.",
  description:
    "`significance` is HIGH from 10 million USD; `implication` is one fixed sentence per kind of movement.",
  example: {
    input: { hours: 24 },
    output: {
      count: 1,
      alerts: [
        {
          token: "ETH",
          direction: "bearish",
          description: "4,920 ETH moved from a fund's wallet to an exchange.",
          significance: "HIGH",
          implication: "Coins moved to an exchange can be sold there: watch for selling pressure.",
        },
      ],
    },
  },
  input: z.object({ hours }),
  returns: z.object({ count: z.int(), alerts: z.array(whaleAlert) }),
  handler: async (ctx, { hours }) => {
    const since = wholeMinute(Date.now()) - hours * HOUR;
    const alerts = await ctx.runQuery(internal.whales.alerts.since, { since });
    // Earlier clients show only the first five.
    const largest = alerts.toSorted((a, b) => b.amount - a.amount);
    return { count: alerts.length, alerts: largest.map(whaleAlertView) };
  },
});

const percent = z.number().describe("Percent; 0 without a result");

const recap: MountedEndpoint = endpoint({
  methods: ["GET"],
  path: "/recap/today",
  summary: "The results of the signals of this UTC day; now /mcp/signals/recap.",
  description:
    "Every figure is a number, and 0 without a result. When there is no review in time, `aiReview` says so.",
  errors: { rate_limited: "A review had to be written, and this caller has asked for too many." },
  example: {
    input: {},
    output: {
      date: "2026-01-05",
      btcWins: 1,
      btcLosses: 0,
      btcWinrate: 100,
      btcBestPnl: 0.98,
      btcWorstPnl: 0.98,
      ethWins: 0,
      ethLosses: 1,
      ethWinrate: 0,
      ethBestPnl: 0,
      ethWorstPnl: -1.1,
      totalWinrate: 50,
      avgPnl: -0.06,
      n: 2,
      excess: 0,
      aiReview: "Bitcoin reached its first target within three hours; Ethereum was stopped out.",
    },
  },
  input: z.object({}),
  returns: z.object({
    date: z.string().describe("UTC day, 2026-11-20"),
    btcWins: z.int(),
    btcLosses: z.int(),
    btcWinrate: percent,
    btcBestPnl: percent,
    btcWorstPnl: percent,
    ethWins: z.int(),
    ethLosses: z.int(),
    ethWinrate: percent,
    ethBestPnl: percent,
    ethWorstPnl: percent,
    totalWinrate: percent,
    avgPnl: percent,
    n: z.int().describe("Trades that closed at a price"),
    excess: z.number().describe("How many points a trade was above the chance of its own levels, on average"),
    aiReview: z.string(),
  }),
  handler: async (ctx, _input, { caller }) => {
    const date = dayOf(Date.now());
    const { trackRecordView } = await import("./trackRecord");
    const { signals, review } = await reviewedDay(ctx, date, caller, deadlines.caller);
    const of = (token: string) => trackRecordView(signals.filter((signal) => signal.token === token));
    const [btc, eth, both] = [of("BTC"), of("ETH"), trackRecordView(signals)];
    return {
      date,
      btcWins: btc.wins,
      btcLosses: btc.losses,
      btcWinrate: btc.winrate,
      btcBestPnl: btc.bestPnl,
      btcWorstPnl: btc.worstPnl,
      ethWins: eth.wins,
      ethLosses: eth.losses,
      ethWinrate: eth.winrate,
      ethBestPnl: eth.bestPnl,
      ethWorstPnl: eth.worstPnl,
      totalWinrate: both.winrate,
      avgPnl: both.avgPnl,
      n: both.n,
      excess: both.excess,
      aiReview:
        review ?? (signals.length === 0 ? "No signal was issued today yet." : "No review is available yet."),
    };
  },
});

export const compatEndpoints: MountedEndpoint[] = [latest, history, winrates, whales, recap];
