import type { WithoutSystemFields } from "convex/server";
import type { Doc, Id, TableNames } from "../../../convex/_generated/dataModel";
import { DAY, dayOf, HOUR, iso } from "../../../convex/lib/time";
import { addDayOfTrades } from "../../../convex/signals/statistics/days";
import { addClosed, emptyTotals, type ClosedSignal } from "../../../convex/signals/statistics/totals";
import type { Totals } from "../../../convex/signals/statistics/rows";
import { dayTradeOf, type DayTrade } from "../../../convex/signals/trade/controls";
import { delivered } from "../../../convex/signals/trade/rules";
import type { App } from "../app";

/** A record of closed signals with its events and totals, today's open ones, and whale alerts. */

type Fields<Table extends TableNames> = WithoutSystemFields<Doc<Table>>;

const TOKENS = ["BTC", "ETH"] as const;

/** Inserts `count` closed signals, one per token and day up to yesterday, and today's two open ones. */
export async function insertSignals({ t }: App, count: number): Promise<void> {
  const today = Math.floor(Date.now() / DAY) * DAY;
  const totals: Record<"BTC" | "ETH" | "ALL", Totals> = {
    BTC: emptyTotals(),
    ETH: emptyTotals(),
    ALL: emptyTotals(),
  };
  let sequence = 0;
  let before: DayTrade[] = [];
  await t.run(async ({ db }) => {
    for (let i = 0; i < count; i++) {
      const token = TOKENS[i % 2] ?? "BTC";
      const row = closedSignal(token, today - (Math.floor((count - i - 1) / 2) + 1) * DAY, i);
      await db.insert("signals", row.signal);
      await db.insert("signalEvents", closedEvent(row.signal, ++sequence));
      totals[token] = addClosed(totals[token], row.closed);
      totals.ALL = addClosed(totals.ALL, row.closed);
      const trade = dayTradeOf(row.signal);
      if (trade === null) throw new Error("A closed trade has its controls");
      const day = [...(i % 2 === 0 ? [] : before), trade];
      before = day;
      totals[token] = { ...totals[token], arms: addDayOfTrades(totals[token].arms, [trade]) };
      if (i % 2 === 0) continue;
      totals.ALL = { ...totals.ALL, arms: addDayOfTrades(totals.ALL.arms, day) };
    }
  });
  await t.run(async ({ db }) => {
    for (const scope of ["BTC", "ETH", "ALL"] as const) {
      await db.insert("signalTotals", { arm: "daily", scope, ...totals[scope] });
    }
    for (const token of TOKENS) await db.insert("signals", issued(token, Date.now() - HOUR));
    await db.insert("openDays", { arm: "daily", slot: today });
  });
}

/** Inserts whale alerts as an agent told them just now, but for these fields. */
export async function insertAlerts(
  { t }: Pick<App, "t">,
  alerts: readonly Partial<Fields<"whaleAlerts">>[],
): Promise<Id<"whaleAlerts">[]> {
  const now = Date.now();
  return t.run(async ({ db }) => {
    const watchId = await db.insert("whaleWatches", { hour: 0, state: "done", startedAt: now, polls: 3 });
    const told: Fields<"whaleAlerts"> = {
      ...{ token: "ETH", alertType: "large_transfer", amount: 1_000_000, direction: "neutral" },
      ...{ description: "A large transfer.", detectedAt: now, watchId },
      ...{ messengerSent: false, verified: false },
    };
    return Promise.all(alerts.map((one) => db.insert("whaleAlerts", { ...told, ...one })));
  });
}

function issued(token: "BTC" | "ETH", generatedAt: number): Fields<"signals"> {
  return {
    ...{ desk: "daily", arm: "daily", record: "daily", token },
    slot: Math.floor(generatedAt / DAY) * DAY,
    ...{ signal: "BUY", entry: 100, tp1: 1e9, tp2: 1e9, sl: 1, confidence: 60 },
    reasoning: "A reason of some length. ".repeat(10),
    status: "PENDING",
    generatedAt,
    expiresAt: generatedAt + 6 * HOUR,
    ...{ model: "simulated", promptVersion: "signal-2", costBps: 15 },
    price: { usd: 100, source: "coinbase", observedAt: generatedAt },
    calibrated: { confidence: 55, method: "isotonic", n: 500 },
    ...{ coin: "SELL", momentum: "BUY", walkedUntil: generatedAt, gapMinutes: 0, open: true },
  };
}

function closedSignal(
  token: "BTC" | "ETH",
  midnight: number,
  i: number,
): { signal: Fields<"signals">; closed: ClosedSignal } {
  const generatedAt = midnight + 8 * HOUR;
  const status = i % 3 === 0 ? "LOSS" : "WIN";
  const outcome = { status, pnlPercent: status === "WIN" ? 1 : -0.8, closedAt: generatedAt + HOUR } as const;
  const open = issued(token, generatedAt);
  const { signal, confidence, costBps, gapMinutes } = open;
  const mirror = {
    mirrorStatus: "LOSS",
    mirrorExitPrice: 101,
    mirrorGapMinutes: 0,
    mirrorInDoubt: false,
  } as const;
  return {
    signal: {
      ...{ ...open, ...outcome, exitPrice: 101, decidedBy: "candle", inDoubt: false, open: false },
      compared: { ...mirror, holdExitPrice: 100.5, decidedBy: "candle" },
    },
    closed: {
      signal,
      confidence,
      costBps,
      gapMinutes,
      calibratedConfidence: 55,
      excess: 0,
      chance: 0.45,
      ...outcome,
    },
  };
}

function closedEvent(signal: Fields<"signals">, sequence: number): Fields<"signalEvents"> {
  const hash = sequence.toString(16).padStart(64, "0");
  const content = {
    ...{ token: delivered(signal.token), day: dayOf(signal.slot) },
    ...{ model: signal.model, promptVersion: signal.promptVersion, refusedDays: 0, gapMinutes: 0 },
    ...{
      status: "WIN" as const,
      exitPrice: 101,
      pnlPercent: 1,
      decidedBy: "candle" as const,
      inDoubt: false,
    },
    closedAt: iso(signal.closedAt ?? signal.generatedAt),
  };
  const links = { sequence, contentHash: hash, previousHash: hash, hash };
  return { desk: "daily", event: { ...links, kind: "closed", content } };
}
