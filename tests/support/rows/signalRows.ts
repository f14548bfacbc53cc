import type { WithoutSystemFields } from "convex/server";
import type { Doc, Id, TableNames } from "../../../convex/_generated/dataModel";
import { DAY, toDay, HOUR } from "../../../convex/lib/time";
import { computeRecord } from "../../../convex/signals/record";
import type { App } from "../app";

/** A record of closed signals with its events, today's open ones, and whale alerts. */

type Fields<Table extends TableNames> = WithoutSystemFields<Doc<Table>>;

const TOKENS = ["BTC", "ETH"] as const;

/** Inserts `count` closed signals, one per token and day up to yesterday, and today's two open ones. */
export async function insertSignals({ t }: App, count: number): Promise<void> {
  const today = Math.floor(Date.now() / DAY) * DAY;
  const closed = Array.from({ length: count }, (_, i) =>
    closedSignal(TOKENS[i % 2] ?? "BTC", today - (Math.floor((count - i - 1) / 2) + 1) * DAY, i),
  );
  await t.run(async ({ db }) => {
    for (const [index, signal] of closed.entries()) {
      await db.insert("signals", signal);
      await db.insert("signalEvents", closedEvent(signal, index + 1));
    }
    const record = (of: string) => computeRecord(closed.filter(({ token }) => of === "ALL" || token === of));
    const records = { ALL: record("ALL"), BTC: record("BTC"), ETH: record("ETH") };
    await db.insert("signalSummaries", { period: "all", of: "ALL", records, generatedAt: Date.now() });
    for (const [index, token] of TOKENS.entries())
      await db.insert("signals", issued(token, Date.now() - HOUR + index));
  });
}

/** Inserts whale alerts as an agent told them just now, but for these fields. */
export async function insertAlerts(
  { t }: Pick<App, "t">,
  alerts: readonly Partial<Fields<"whaleAlerts">>[],
): Promise<Id<"whaleAlerts">[]> {
  const now = Date.now();
  return t.run(async ({ db }) => {
    const told: Fields<"whaleAlerts"> = {
      ...{ token: "ETH", alertType: "large_transfer", amount: 1_000_000, direction: "neutral" },
      ...{ description: "A large transfer.", detectedAt: now, cardHour: 1 },
      ...{ messengerSent: false, verified: false },
    };
    return Promise.all(alerts.map((one) => db.insert("whaleAlerts", { ...told, ...one })));
  });
}

function issued(token: "BTC" | "ETH", generatedAt: number): Fields<"signals"> {
  return {
    ...{ token, day: toDay(generatedAt) },
    ...{ signal: "BUY", entry: 100, tp1: 1e9, tp2: 1e9, sl: 1, confidence: 60 },
    reasoning: "A reason of some length. ".repeat(10),
    status: "PENDING",
    generatedAt,
    expiresAt: generatedAt + 6 * HOUR,
    ...{ model: "simulated", promptVersion: "signal-4", costBps: 15 },
    price: { usd: 100, source: "coinbase", observedAt: generatedAt },
  };
}

function closedSignal(token: "BTC" | "ETH", midnight: number, i: number): Fields<"signals"> {
  const generatedAt = midnight + 8 * HOUR + (i % 2);
  const status = i % 3 === 0 ? "LOSS" : "WIN";
  return {
    ...issued(token, generatedAt),
    ...{ status, pnlPercent: status === "WIN" ? 1 : -0.8, closedAt: generatedAt + HOUR },
    ...{ exitPrice: 101, gapMinutes: 0 },
  };
}

function closedEvent({ token, day }: Fields<"signals">, sequence: number): Fields<"signalEvents"> {
  const hash = sequence.toString(16).padStart(64, "0");
  const content = JSON.stringify({ token, day });
  return { sequence, kind: "closed", token, day, content, contentHash: hash, previousHash: hash, hash };
}
