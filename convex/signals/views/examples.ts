import { EXAMPLE_TIME } from "../../lib/examples";
import type { SignalEvent } from "../record/events";
import type { SignalStats } from "../statistics/shapes";
import type { PublicSignal } from "./shapes";

/** Values of the API document's examples: one signal, from issue to end. */

const issued = {
  token: "BTC" as const,
  timeframe: "1h" as const,
  signal: "BUY" as const,
  entry: 97_250,
  tp1: 98_200,
  tp2: 99_100,
  sl: 96_300,
  confidence: 68,
  calibratedConfidence: 54.3,
  reasoning: "Funding has cooled while spot demand holds, and the hourly trend points up.",
  model: "claude-haiku-4.5",
  promptVersion: "signal-2",
  generatedAt: EXAMPLE_TIME,
  expiresAt: "2026-01-05T15:30:00.000Z",
};

/** What a BUY came to, what a SELL did, and what it was to hold the coin. */
const [bought, sold, held] = [
  { pnlPercent: 0.976864, afterCostsPercent: 0.826864 },
  { pnlPercent: -0.976864, afterCostsPercent: -1.126864 },
  { pnlPercent: 0.411311, afterCostsPercent: 0.261311 },
];

export const signalExample: PublicSignal = {
  ...issued,
  id: "BTC-2026-01-05",
  chancePercent: 50,
  costPercent: 0.15,
  status: "WIN",
  closedAt: "2026-01-05T12:00:00.000Z",
  decidedBy: "candle",
  gapMinutes: 0,
  exitPrice: 98_200,
  ...bought,
  excessPoints: 50,
  controls: {
    coin: { signal: "SELL", ...sold },
    momentum: { signal: "BUY", ...bought },
    alwaysLong: { signal: "BUY", ...bought },
    buyAndHold: { signal: "BUY", ...held },
  },
};

const interval = { lowPoints: -55.5556555556, highPoints: 100 };

/** One trade of an arm. */
const averaged = ({ pnlPercent, afterCostsPercent }: typeof bought) => {
  return { trades: 1, averageBeforeCostsPercent: pnlPercent, averageAfterCostsPercent: afterCostsPercent };
};
const winning = { ...averaged(bought), days: 1, excessPoints: 50, ...interval };

const summed = (percent: number) => {
  return {
    totalPnlPercent: percent,
    expectancyPercent: percent,
    bestPnlPercent: percent,
    worstPnlPercent: percent,
    profitFactor: null,
  };
};

/** Of a record that holds this signal alone; the empty bins of its calibration are left out here. */
export const statsExample: SignalStats = {
  n: 1,
  wins: 1,
  losses: 0,
  expired: 0,
  holds: 0,
  refusedDays: 0,
  gaps: {
    trades: 0,
    minutes: 0,
  },
  edge: {
    trades: 1,
    days: 1,
    excessPoints: 50,
    ...interval,
    eValue: 1.1074533289,
    verdict: "not told from chance",
  },
  controls: {
    model: winning,
    coin: { ...winning, ...averaged(sold), excessPoints: -50 },
    momentum: winning,
    alwaysLong: winning,
    buyAndHold: averaged(held),
  },
  winrate: 100,
  trades: 1,
  beforeCosts: summed(bought.pnlPercent),
  afterCosts: summed(bought.afterCostsPercent),
  averageWinPercent: 0.976864,
  averageLossPercent: null,
  risk: {
    n: 1,
    sharpe: null,
    sortino: null,
    maxDrawdown: null,
  },
  streaks: {
    current: {
      outcome: "WIN",
      length: 1,
    },
    longestWins: 1,
    longestLosses: 0,
  },
  calibration: {
    n: 1,
    brier: 0.1024,
    calibratedBrier: 0.208849,
    bins: [
      {
        from: 60,
        to: 70,
        n: 1,
        meanConfidence: 68,
        winrate: 100,
      },
    ],
  },
};

export const eventExample: SignalEvent = {
  sequence: 1,
  kind: "issued",
  contentHash: "5d".repeat(32),
  previousHash: "0".repeat(64),
  hash: "e1".repeat(32),
  content: {
    ...issued,
    day: "2026-01-05",
    refusedDays: 0,
    gapMinutes: 0,
    calibrationMethod: "platt",
    calibrationOutcomes: 41,
    costBps: 15,
    coin: "SELL",
    momentum: "BUY",
    priceSource: "coinbase",
    priceObservedAt: "2026-01-05T09:29:40.000Z",
  },
};
