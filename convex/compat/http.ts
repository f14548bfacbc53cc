import * as z from "zod";
import { internal } from "../_generated/api";
import { defineEndpoint, type MountedEndpoint } from "../platform/http/endpoint";
import { wholeNumberWithDefault } from "../platform/http/input";
import { DAY, toDay, HOUR, startOfMinute } from "../lib/time";
import { assertIssued, getReviewedDay } from "../signals/http";
import { SIGNAL_TOKENS } from "../signals/rules";
import { publicSignal, signalToken } from "../signals/shapes";
import type { Signal } from "../signals/tables";
import { hoursInput, publicAlertShape } from "../whales/http";
import type { AlertType } from "../whales/tables";

/**
 * Endpoints for earlier clients, under the names and in the shapes that those expect; each summary names the present one.
 * Earlier clients need a number in every statistic: they get 0 where this service otherwise answers `null`.
 */

const MAX_DAYS = 365;
const DEFAULT_DAYS = 7;
const days = wholeNumberWithDefault(DEFAULT_DAYS, 1, MAX_DAYS);

/** The query for the last days. A token has one signal a day; the limit has one more because a window may begin within a day. */
function buildWindow(token: "BTC" | "ETH" | undefined, days: number) {
  const limit = (days + 1) * (token === undefined ? SIGNAL_TOKENS.length : 1);
  return { token: token ?? null, since: startOfMinute(Date.now()) - days * DAY, limit };
}

const { signal: signalType, status, token } = publicSignal.shape;

const latestSignal = z.object({
  signalType,
  entryPrice: z.number(),
  target1: z.number(),
  target2: z.number(),
  stopLoss: z.number(),
  confidence: z.number(),
  status,
  reasoning: z.string(),
});

const latest: MountedEndpoint = defineEndpoint({
  methods: ["GET"],
  path: "/signals/latest",
  summary: "The latest signals as a bare map; now /mcp/signals/latest.",
  input: z.object({ token: signalToken }),
  returns: z.object({ BTC: latestSignal.nullable().optional(), ETH: latestSignal.nullable().optional() }),
  handler: async (ctx, { token }) => {
    await assertIssued(ctx, token);
    const tokens = token === undefined ? [...SIGNAL_TOKENS] : [token];
    const rows = await ctx.runQuery(internal.signals.history.readLatestSignals, { tokens });
    const toView = ({ signal: signalType, entry, tp1, tp2, sl, confidence, status, reasoning }: Signal) => ({
      signalType,
      entryPrice: entry,
      target1: tp1 ?? entry,
      target2: tp2 ?? entry,
      stopLoss: sl ?? entry,
      confidence,
      status,
      reasoning,
    });
    return Object.fromEntries(
      tokens.map((one) => [one, rows.filter((signal) => signal.token === one).map(toView)[0] ?? null]),
    );
  },
});

const history: MountedEndpoint = defineEndpoint({
  methods: ["GET"],
  path: "/signals/history",
  summary: "Signals of the last days, newest first; now /mcp/signals/history.",
  input: z.object({ token: signalToken, days }),
  returns: z.object({
    signals: z.array(
      z.object({
        token,
        signalType,
        entryPrice: z.number(),
        isWin: z.boolean().nullable(),
        status,
        pnlPercent: z.number().nullable(),
      }),
    ),
  }),
  handler: async (ctx, { token, days }) => {
    await assertIssued(ctx, token);
    const { signals } = await ctx.runQuery(internal.signals.history.listSignalPage, buildWindow(token, days));
    return {
      signals: signals.map(({ token, signal: signalType, entry: entryPrice, status, pnlPercent = null }) => {
        const isWin = status === "WIN" ? true : status === "LOSS" ? false : null;
        return { token, signalType, entryPrice, isWin, status, pnlPercent };
      }),
    };
  },
});

/** The results of the signals of a window. A HOLD is no trade. */
function summarizeResults(signals: readonly Signal[]) {
  const trades = signals.filter(({ signal, status }) => signal !== "HOLD" && status !== "PENDING");
  const countStatus = (status: Signal["status"]) => trades.filter((one) => one.status === status).length;
  const [wins, losses] = [countStatus("WIN"), countStatus("LOSS")];
  const results = trades.flatMap(({ pnlPercent }) => pnlPercent ?? []);
  return {
    total: trades.length,
    wins,
    losses,
    winrate: toFigure((100 * wins) / (wins + losses)),
    avgPnl: toFigure(results.reduce((sum, one) => sum + one, 0) / results.length),
    // Earlier clients write a + before this figure.
    bestPnl: toFigure(Math.max(0, ...results)),
    worstPnl: toFigure(Math.min(...results)),
  };
}

/** A figure with two decimals, never -0; 0 for the result of a division by 0. */
function toFigure(value: number): number {
  return Number.isFinite(value) ? Number(value.toFixed(2)) + 0 : 0;
}

const results = z.object({
  total: z.int(),
  wins: z.int(),
  losses: z.int(),
  winrate: z.number(),
  avgPnl: z.number(),
  bestPnl: z.number(),
  worstPnl: z.number(),
});

const winrates: MountedEndpoint = defineEndpoint({
  methods: ["GET"],
  path: "/signals/winrate",
  summary: "How the signals of the last days ended; now the `stats` of /mcp/signals/history.",
  input: z.object({ token: signalToken, days }),
  returns: results,
  handler: async (ctx, { token, days }) => {
    const { signals } = await ctx.runQuery(internal.signals.history.listSignalPage, buildWindow(token, days));
    return summarizeResults(signals);
  },
});

/** A movement of at least this many USD has high significance. */
const HIGH_USD = 10_000_000;

/** What each kind of movement implies; the direction comes from the alert itself. */
const IMPLICATIONS: Record<AlertType, string> = {
  cex_inflow: "Coins moved to an exchange can be sold there: watch for selling pressure.",
  cex_outflow: "Coins moved off an exchange are usually held: less is for sale.",
  large_transfer: "A large holder moved coins: by itself it says nothing about direction.",
  smart_money: "Wallets with a record of good trades moved: others may follow.",
};

const whales: MountedEndpoint = defineEndpoint({
  methods: ["GET"],
  path: "/whales/latest",
  summary: "Whale alerts of the last hours, the largest first, at most 500; now /mcp/whale-alerts.",
  input: z.object({ hours: hoursInput }),
  returns: z.object({
    count: z.int(),
    alerts: z.array(
      z.object({
        token: z.string(),
        direction: publicAlertShape.shape.direction,
        description: z.string(),
        significance: z.enum(["HIGH", "MEDIUM"]),
        implication: z.string(),
      }),
    ),
  }),
  handler: async (ctx, { hours }) => {
    const since = startOfMinute(Date.now()) - hours * HOUR;
    const alerts = await ctx.runQuery(internal.whales.alerts.listAlertsSince, { since });
    // Earlier clients show only the first five.
    const largest = alerts.toSorted((a, b) => b.amount - a.amount);
    return {
      count: alerts.length,
      alerts: largest.map(({ token, direction, description, amount, alertType }) => {
        const significance = amount >= HIGH_USD ? ("HIGH" as const) : ("MEDIUM" as const);
        return { token, direction, description, significance, implication: IMPLICATIONS[alertType] };
      }),
    };
  },
});

const recap: MountedEndpoint = defineEndpoint({
  methods: ["GET"],
  path: "/recap/today",
  summary: "The results of the signals of this UTC day; now /mcp/signals/recap.",
  errors: { rate_limited: "A review had to be written, and this caller has requested too many." },
  input: z.object({}),
  returns: z.object({
    date: z.string(),
    btcWins: z.int(),
    btcLosses: z.int(),
    btcWinrate: z.number(),
    btcBestPnl: z.number(),
    btcWorstPnl: z.number(),
    ethWins: z.int(),
    ethLosses: z.int(),
    ethWinrate: z.number(),
    ethBestPnl: z.number(),
    ethWorstPnl: z.number(),
    totalWinrate: z.number(),
    avgPnl: z.number(),
    aiReview: z.string(),
  }),
  handler: async (ctx, _input, { caller }) => {
    const date = toDay(Date.now());
    const { signals, review } = await getReviewedDay(ctx, date, caller);
    const of = (token: string) => summarizeResults(signals.filter((signal) => signal.token === token));
    const [btc, eth, both] = [of("BTC"), of("ETH"), summarizeResults(signals)];
    const nothing = signals.length === 0 ? "No signal was issued today yet." : "No review is available yet.";
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
      aiReview: review ?? nothing,
    };
  },
});

export const compatEndpoints: MountedEndpoint[] = [latest, history, winrates, whales, recap];
