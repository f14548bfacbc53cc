import { HOUR } from "../../convex/lib/time";
import { drawAlert, drawDeposit, drawSignals, drawWeek, drawWorth } from "../../convex/pictures/messageCards";
import type { SignalData } from "../../convex/pictures/levels";
import type { PricePoint } from "../../convex/market/views";
import { signalExample } from "../../convex/signals/proof";
import type { PublicSignal } from "../../convex/signals/shapes";

/** A picture of each kind, of prices that swing as prices do and are the same every time. */

const ISSUED = Date.UTC(2026, 10, 20, 8);
const SITE = "some.convex.site";

const time = (ms: number) => new Date(ms).toISOString();

function prices(from: number, count: number, stepMs: number, mean: number): PricePoint[] {
  return Array.from({ length: count }, (_, i) => ({
    at: time(from + i * stepMs),
    priceUsd: mean * (1 + 0.012 * Math.sin(i / 5) + 0.006 * Math.sin(i * 1.7) + 0.003 * Math.sin(i * 5.3)),
    source: i % 3 === 0 ? ("coinbase" as const) : ("chainlink" as const),
  }));
}

function signalOf(token: "BTC" | "ETH", side: "BUY" | "SELL" | "HOLD", mean: number): SignalData {
  const before = prices(ISSUED - 24 * HOUR, 22, HOUR, mean);
  const path = prices(ISSUED - 2 * HOUR, 25, HOUR / 12, mean);
  const entry = path.at(-1)?.priceUsd ?? mean;
  const way = side === "BUY" ? 1 : -1;
  const level = (share: number) => (side === "HOLD" ? null : entry * (1 + way * share));
  const signal: PublicSignal = {
    ...signalExample,
    ...{ id: `${token}-2026-11-20`, token, signal: side, entry, status: "PENDING" },
    ...{ tp1: level(0.008), tp2: level(0.016), sl: level(-0.008), confidence: 71 },
    ...{ generatedAt: time(ISSUED), expiresAt: time(ISSUED + 6 * HOUR) },
  };
  delete signal.closedAt;
  delete signal.exitPrice;
  const issued = { priceUsd: entry, source: "coinbase" as const };
  return { signal, issued, path: [...before, ...path] };
}

const ENDINGS = ["WIN", "LOSS", "EXPIRED", "WIN", "LOSS", "WIN", "PENDING"] as const;
const RESULTS = [0.9, -0.8, 0.1, 1.1, -0.9, 0.8, undefined];

function weekOf(token: "BTC" | "ETH", mean: number) {
  const closes = prices(Date.UTC(2026, 10, 16), 168, HOUR, mean);
  const signals = ENDINGS.map((status, day): PublicSignal => {
    const { at, priceUsd } = closes[day * 24 + 8] ?? { at: time(ISSUED), priceUsd: mean };
    const [tp1, sl, pnlPercent] = [priceUsd * 1.01, priceUsd * 0.99, RESULTS[day]];
    const levels = { entry: priceUsd, tp1, sl, generatedAt: at, status };
    const { pnlPercent: _, afterCostsPercent: __, ...example } = signalExample;
    const ended = pnlPercent === undefined ? {} : { pnlPercent, afterCostsPercent: pnlPercent - 0.15 };
    return { ...example, token, ...levels, ...ended };
  });
  return { token, signals, closes };
}

/** An hourly value of SOL, which fired where it fell below 158. */
function alertOf() {
  const path = prices(ISSUED - 168 * HOUR, 168, HOUR, 160).map(({ at, priceUsd, source }) => {
    return { at: Date.parse(at), observedAt: Date.parse(at), value: priceUsd, source };
  });
  const fired = path.filter(({ value }, i) => value < 158 && (path[i - 1]?.value ?? 0) >= 158);
  const condition = { kind: "price", token: "SOL", direction: "below", levelUsd: 158 } as const;
  return { condition, now: ISSUED, path, fired, level: 158 };
}

/** A wallet of two months: 100 USD, 160 more after three weeks, 60 taken out at last. */
function worthOf() {
  return prices(ISSUED - 60 * 24 * HOUR, 120, 12 * HOUR, 1).map(({ at, priceUsd }, n) => {
    const paidIn = n < 42 ? 100 : n < 100 ? 260 : 200;
    return { at: Date.parse(at), value: paidIn * (1 + 4 * (priceUsd - 1) + n / 1_500), paidIn };
  });
}

export const PICTURES: Readonly<Record<string, string>> = {
  signals: drawSignals([signalOf("BTC", "SELL", 97_000), signalOf("ETH", "BUY", 3_400)], SITE),
  hold: drawSignals([signalOf("BTC", "HOLD", 97_000)], "a-long-name-123.eu-west-1.convex.site"),
  week: drawWeek({ week: "2026-11-16", tokens: [weekOf("BTC", 97_000), weekOf("ETH", 3_400)] }, SITE),
  alert: drawAlert(alertOf(), SITE),
  worth: drawWorth(worthOf(), SITE),
  deposit: drawDeposit("0x70997970C51812dc3A010C7d01b50e0d17dc79C8", SITE),
};
