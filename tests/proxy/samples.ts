/** Answers of the endpoints whose documentation shows none: as the service gives them, with one of every kind. */

const buy = {
  token: "BTC",
  timeframe: "1h",
  signal: "BUY",
  entry: 97_250.5,
  tp1: 98_100,
  tp2: 99_000,
  sl: 96_400,
  confidence: 72,
  reasoning: "Higher lows on rising volume.",
  status: "PENDING",
  generatedAt: "2026-01-05T08:00:07.000Z",
  expiresAt: "2026-01-05T14:00:07.000Z",
};

const won = {
  ...buy,
  status: "WIN",
  closedAt: "2026-01-05T10:30:00.000Z",
  exitPrice: 98_100,
  pnlPercent: 0.8735,
};

const hold = { ...buy, token: "ETH", signal: "HOLD", entry: 3_410.2, tp1: null, tp2: null, sl: null };

const nothingYet = {
  wins: 0,
  losses: 0,
  expired: 0,
  pending: 0,
  winrate: null,
  totalPnlPercent: 0,
  signal: null,
};

type Sample = { input: Record<string, unknown>; output: Record<string, unknown> };

export const samples: Readonly<Record<string, Sample>> = {
  get_latest_signal: {
    input: { userId: "3f0c2a9e-6d1b-4c7e-9a54-b2f1d8e0c6a7" },
    output: { signals: { BTC: buy, ETH: null }, messengerSent: true },
  },
  get_signal_history: {
    input: { token: "BTC", limit: 2 },
    output: {
      signals: [won, hold],
      stats: {
        n: 2,
        wins: 1,
        losses: 0,
        expired: 1,
        holds: 1,
        winrate: 100,
        winrateInterval: { low: 20.654329, high: 100, n: 1 },
        trades: 1,
        averagePnlPercent: 0.8735,
        bestPnlPercent: 0.8735,
        worstPnlPercent: 0.8735,
        totalPnlPercent: 0.8735,
        averageWinPercent: 0.8735,
        averageLossPercent: null,
        expectancyPercent: 0.8735,
        profitFactor: null,
        maxDrawdown: null,
        sharpe: null,
        sortino: null,
        streaks: { current: { outcome: "WIN", length: 1 }, longestWins: 1, longestLosses: 0 },
        calibration: { n: 1, brier: 0.0784, bins: [] },
      },
      count: 2,
    },
  },
  get_daily_recap: {
    input: {},
    output: {
      wins: 1,
      losses: 0,
      expired: 0,
      pending: 0,
      winrate: 100,
      totalPnlPercent: 0.8735,
      date: "2026-01-05",
      byToken: {
        BTC: {
          wins: 1,
          losses: 0,
          expired: 0,
          pending: 0,
          winrate: 100,
          totalPnlPercent: 0.8735,
          signal: won,
        },
        ETH: nothingYet,
      },
      review: "One signal, one win.",
      generatedAt: "2026-01-05T12:00:00.000Z",
    },
  },
  get_whale_alerts: {
    input: { hours: 12 },
    output: {
      hours: 12,
      count: 1,
      alerts: [
        {
          token: "ETH",
          alertType: "cex_outflow",
          amount: 48_200_000,
          direction: "bullish",
          description: "14,100 ETH left an exchange for a new wallet.",
          detectedAt: 1_767_605_400_000,
          messengerSent: false,
          verified: false,
        },
      ],
      messengerSent: false,
    },
  },
};
