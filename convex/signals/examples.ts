import { EXAMPLE_TIME } from "../lib/examples";
import type { SignalEvent } from "./eventChain";
import { addClosed, emptyTotals } from "./totals";
import { statisticsOf, type SignalStats } from "./statistics";
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
  reasoning: "Funding has cooled while spot demand holds, and the hourly trend points up.",
  status: "WIN",
  generatedAt: EXAMPLE_TIME,
  expiresAt: "2026-01-05T15:30:00.000Z",
  closedAt: "2026-01-05T12:00:00.000Z",
  exitPrice: 98_200,
  pnlPercent: 0.976864,
};

/** Of a record that holds this signal alone. */
export const statsExample: SignalStats = statisticsOf(
  addClosed(emptyTotals(), {
    signal: "BUY",
    status: "WIN",
    pnlPercent: 0.976864,
    confidence: 68,
    closedAt: Date.UTC(2026, 0, 5, 12),
  }),
);

export const eventExample: SignalEvent = {
  sequence: 1,
  kind: "issued",
  contentHash: "5d".repeat(32),
  previousHash: "0".repeat(64),
  hash: "e1".repeat(32),
  content: {
    token: "BTC",
    day: "2026-01-05",
    timeframe: "1h",
    signal: "BUY",
    entry: 97_250,
    tp1: 98_200,
    tp2: 99_100,
    sl: 96_300,
    confidence: 68,
    reasoning: "Funding has cooled while spot demand holds, and the hourly trend points up.",
    generatedAt: EXAMPLE_TIME,
    expiresAt: "2026-01-05T15:30:00.000Z",
    priceUsd: 97_262.4,
    priceSource: "chainlink",
    priceObservedAt: "2026-01-05T09:29:40.000Z",
  },
};
