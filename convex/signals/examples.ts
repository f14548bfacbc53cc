import { EXAMPLE_TIME } from "../lib/examples";
import { addDayOfTrades, NO_ARMS } from "./arms";
import type { SignalEvent } from "./eventChain";
import { addClosed, emptyTotals } from "./totals";
import { statisticsOf } from "./statistics";
import type { SignalStats } from "./statisticsShapes";
import type { PublicSignal } from "./views";

/** Values of the API document's examples: one signal, from issue to end. */

export const signalExample: PublicSignal = {
  id: "BTC-2026-01-05",
  token: "BTC",
  timeframe: "1h",
  signal: "BUY",
  entry: 97_250,
  tp1: 98_200,
  tp2: 99_100,
  sl: 96_300,
  confidence: 68,
  calibratedConfidence: 54.3,
  chancePercent: 50,
  costPercent: 0.15,
  reasoning: "Funding has cooled while spot demand holds, and the hourly trend points up.",
  model: "claude-haiku-4.5",
  promptVersion: "signal-2",
  status: "WIN",
  generatedAt: EXAMPLE_TIME,
  expiresAt: "2026-01-05T15:30:00.000Z",
  closedAt: "2026-01-05T12:00:00.000Z",
  decidedBy: "candle",
  gapMinutes: 0,
  exitPrice: 98_200,
  pnlPercent: 0.976864,
  afterCostsPercent: 0.826864,
  excessPoints: 50,
  controls: {
    coin: { signal: "SELL", pnlPercent: -0.976864, afterCostsPercent: -1.126864 },
    momentum: { signal: "BUY", pnlPercent: 0.976864, afterCostsPercent: 0.826864 },
    alwaysLong: { signal: "BUY", pnlPercent: 0.976864, afterCostsPercent: 0.826864 },
    buyAndHold: { signal: "BUY", pnlPercent: 0.411311, afterCostsPercent: 0.261311 },
  },
};

/** Of a record that holds this signal alone. */
export const statsExample: SignalStats = statisticsOf({
  ...addClosed(emptyTotals(), {
    signal: "BUY",
    status: "WIN",
    pnlPercent: 0.976864,
    costBps: 15,
    confidence: 68,
    calibratedConfidence: 54.3,
    gapMinutes: 0,
    closedAt: Date.UTC(2026, 0, 5, 12),
  }),
  arms: addDayOfTrades(NO_ARMS, [
    {
      position: { signal: "BUY", entry: 97_250, tp1: 98_200, sl: 96_300 },
      coin: "SELL",
      momentum: "BUY",
      exitPrice: 98_200,
      gapMinutes: 0,
      costBps: 15,
      compared: {
        ...{ mirrorStatus: "LOSS", mirrorExitPrice: 98_200, mirrorGapMinutes: 0 },
        ...{ holdExitPrice: 97_650, decidedBy: "candle" },
      },
    },
  ]),
});

export const eventExample: SignalEvent = {
  sequence: 1,
  kind: "issued",
  contentHash: "5d".repeat(32),
  previousHash: "0".repeat(64),
  hash: "e1".repeat(32),
  content: {
    token: "BTC",
    day: "2026-01-05",
    model: "claude-haiku-4.5",
    promptVersion: "signal-2",
    refusedDays: 0,
    gapMinutes: 0,
    timeframe: "1h",
    signal: "BUY",
    entry: 97_250,
    tp1: 98_200,
    tp2: 99_100,
    sl: 96_300,
    confidence: 68,
    calibratedConfidence: 54.3,
    calibrationMethod: "platt",
    calibrationOutcomes: 41,
    costBps: 15,
    coin: "SELL",
    momentum: "BUY",
    reasoning: "Funding has cooled while spot demand holds, and the hourly trend points up.",
    generatedAt: EXAMPLE_TIME,
    expiresAt: "2026-01-05T15:30:00.000Z",
    priceSource: "coinbase",
    priceObservedAt: "2026-01-05T09:29:40.000Z",
  },
};
