import { EXAMPLE_TIME } from "../../lib/http/examples";
import { GENESIS, linksAfter } from "../record/chain";
import { issuedContent } from "../record/entries";
import type { SignalEvent } from "../record/events";
import type { Signal } from "../record/rows";
import { calibrated } from "../statistics/calibration";
import { addDayOfTrades, NO_ARMS } from "../statistics/days";
import { statisticsOf } from "../statistics/figures";
import { addClosed, closedOf, emptyTotals } from "../statistics/totals";
import { coinFlip, dayTradeOf } from "../trade/controls";
import { signalView } from "./signals";

/** Values of the API document's examples: one signal, from issue to end, as the code makes it. */

const generatedAt = Date.parse(EXAMPLE_TIME);
const outcome = {
  ...{ status: "WIN" as const, exitPrice: 98_200, pnlPercent: 0.976864, gapMinutes: 0, inDoubt: false },
  ...{ closedAt: Date.UTC(2026, 0, 5, 12), decidedBy: "candle" as const },
};

export const storedExample: Signal = {
  ...{ desk: "daily", arm: "daily", slot: Date.UTC(2026, 0, 5), token: "BTC", signal: "BUY", confidence: 68 },
  ...{ entry: 97_250, tp1: 98_200, tp2: 99_100, sl: 96_300 },
  reasoning: "Funding has cooled while spot demand holds, and the hourly trend points up.",
  ...{ model: "claude-haiku-4.5", promptVersion: "signal-2", record: "daily", costBps: 15 },
  ...{ generatedAt, expiresAt: Date.UTC(2026, 0, 5, 15, 30), open: false, walkedUntil: outcome.closedAt },
  price: { usd: 97_250, source: "coinbase", observedAt: Date.UTC(2026, 0, 5, 9, 29, 40) },
  calibrated: calibrated(emptyTotals(), 68, 0.5),
  ...{ coin: coinFlip(GENESIS, "BTC", "2026-01-05"), momentum: "BUY" },
  ...outcome,
  compared: {
    ...{ mirrorStatus: "LOSS", mirrorExitPrice: 98_200, mirrorGapMinutes: 0, mirrorInDoubt: false },
    ...{ holdExitPrice: 97_650, decidedBy: "candle" },
  },
};

export const signalExample = signalView(storedExample);

/** The totals of a record that holds this signal alone. */
export const totalsExample = {
  ...addClosed(emptyTotals(), closedOf(storedExample, outcome)),
  arms: addDayOfTrades(
    NO_ARMS,
    [dayTradeOf(storedExample)].filter((one) => one !== null),
  ),
};

const stats = statisticsOf(totalsExample);

/** The empty bins of its calibration are left out here. */
export const statsExample = {
  ...stats,
  calibration: { ...stats.calibration, bins: stats.calibration.bins.filter(({ n }) => n > 0) },
};

const statement = {
  kind: "issued" as const,
  content: issuedContent(storedExample, { refusedDays: 0, gapMinutes: 0 }),
};
export const eventExample: SignalEvent = { ...statement, ...linksAfter(null, statement) };
