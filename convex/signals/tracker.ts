import { v } from "convex/values";
import { internal } from "../_generated/api";
import type { Id } from "../_generated/dataModel";
import { internalQuery } from "../_generated/server";
import { defineMutation, defineCron } from "../platform/changes";
import { HOUR, MINUTE } from "../lib/time";
import { broadcast } from "../messenger/subscriptions";
import type { Candle } from "../providers/data/coinbase";
import { buildOutcomeCard, createPicture } from "./cards";
import { closeSignal, getRecord, toSignal } from "./model";
import { LIFETIME_MS, computePnlPercent, toPosition, toSignalId, type SignalLevels } from "./rules";
import { vSignalOutcome, vSignal, type SignalOutcome, type Signal } from "./tables";

/**
 * The outcome tracker, the one place that decides how a signal ends. Each run replays a signal's whole life along
 * one-minute candles, so a lost run costs nothing. Only measured prices decide: a record built on a language model's
 * market data would be worthless.
 *
 * The first level touched decides. The extremes of one candle have no order: a candle that touches stop and target
 * counts as the stop. The candle of the issue mixes prices before and after it, so only its close and its adverse
 * extreme count. Of the candle of the expiry only the open counts. Times are epoch ms, prices USD.
 */

/** Open signals per run, oldest first: a token has one a day, which lives for hours. */
const BATCH = 20;

export const track = defineCron("track signal outcomes", async (ctx) => {
  const open = await ctx.db
    .query("signals")
    .withIndex("by_status", (q) => q.eq("status", "PENDING"))
    .first();
  if (open !== null) await ctx.scheduler.runAfter(0, internal.signals.actions.trackSignals, {});
});

export const listOpenSignals = internalQuery({
  args: {},
  returns: v.array(v.object({ id: v.id("signals"), signal: vSignal })),
  handler: async (ctx): Promise<{ id: Id<"signals">; signal: Signal }[]> => {
    const rows = await ctx.db
      .query("signals")
      .withIndex("by_status", (q) => q.eq("status", "PENDING"))
      .take(BATCH);
    return rows.map((row) => ({ id: row._id, signal: toSignal(row) }));
  },
});

/** Ends a signal, once; of a position, with a card. */
export const close = defineMutation(
  { id: v.id("signals"), outcome: vSignalOutcome },
  async (ctx, { id, outcome }) => {
    const row = await ctx.db.get("signals", id);
    if (row?.status !== "PENDING") return;
    await closeSignal(ctx, row, outcome);
    if (row.signal === "HOLD") return;
    const signal = { ...toSignal(row), ...outcome };
    await broadcast(ctx, "outcomes", {
      kind: "signal outcome",
      paragraphs: buildOutcomeCard(signal, await getRecord(ctx, "ALL")),
      picture: await createPicture("signals", toSignalId(signal)),
    });
  },
);

/** Candles may be published late: an outcome waits this long for missing ones. */
const PATIENCE_MS = 2 * HOUR;
/** A signal without any price is closed without a result this long after its issue: twice its lifetime. */
const UNPRICED_MS = 2 * LIFETIME_MS;
/** The greatest age of the last known price at expiry. */
const STALE_MS = 10 * MINUTE;

/** A candle of one minute. */
export type Minute = Omit<Candle, "volume">;
type Life = SignalLevels & { generatedAt: number; expiresAt: number };
type End = Pick<SignalOutcome, "status" | "exitPrice" | "closedAt">;

/** The outcome of a signal; `null` while it is open. @param candles The known candles of its life, in any order. */
export function computeOutcome(signal: Life, candles: readonly Minute[], now: number): SignalOutcome | null {
  const path = candles.toSorted((a, b) => a.openedAt - b.openedAt);
  const end = findFirstTouch(signal, path) ?? (now < signal.expiresAt ? null : computeExpiry(signal, path));
  if (end === null) return null;
  const { generatedAt, entry } = signal;
  const gapMinutes = countMissingMinutes(path, generatedAt, end.closedAt);
  const isFinal =
    end.exitPrice === null ? now - generatedAt > UNPRICED_MS : now >= end.closedAt + PATIENCE_MS;
  if (gapMinutes > 0 && !isFinal) return null;
  const result = end.exitPrice === null ? null : computePnlPercent(signal.signal, entry, end.exitPrice);
  return { ...end, pnlPercent: result, gapMinutes };
}

function findFirstTouch(life: Life, path: readonly Minute[]): End | null {
  const { generatedAt, expiresAt } = life;
  const position = toPosition(life);
  if (position === null) return null;
  const { tp1, sl } = position;
  const side = position.signal === "BUY" ? 1 : -1;
  for (const { openedAt, open, high, low, close } of path) {
    const endedAt = openedAt + MINUTE;
    if (endedAt <= generatedAt || openedAt > expiresAt) continue;
    const [worst, best] = side === 1 ? [low, high] : [high, low];
    const [isFirst, isLast] = [openedAt < generatedAt, endedAt > expiresAt];
    const against = isLast ? open : worst;
    const towards = isLast ? open : isFirst ? close : best;
    if (side * (against - sl) <= 0)
      return { status: "LOSS", exitPrice: sl, closedAt: Math.max(openedAt, generatedAt) };
    if (side * (towards - tp1) >= 0)
      return { status: "WIN", exitPrice: tp1, closedAt: isFirst ? endedAt : openedAt };
  }
  return null;
}

/** The end at expiry. Without a touch the price is between stop and target. */
function computeExpiry(life: Life, path: readonly Minute[]): End {
  const { expiresAt } = life;
  let last = { at: -Infinity, price: 0 };
  for (const { openedAt, open, close } of path) {
    const endedAt = openedAt + MINUTE;
    if (endedAt <= expiresAt) last = { at: endedAt, price: close };
    else if (openedAt <= expiresAt && last.at < openedAt) last = { at: openedAt, price: open };
  }
  const expired = { status: "EXPIRED", closedAt: expiresAt } as const;
  if (last.at < expiresAt - STALE_MS) return { ...expired, exitPrice: null };
  const { tp1, sl } = toPosition(life) ?? { tp1: -Infinity, sl: Infinity };
  const exitPrice = Math.min(Math.max(last.price, Math.min(tp1, sl)), Math.max(tp1, sl));
  return { ...expired, exitPrice };
}

/** The number of minutes without a candle between two moments, the minutes of both included. */
function countMissingMinutes(path: readonly Minute[], from: number, to: number): number {
  const first = toMinute(from);
  const knownMinutes = path.filter(({ openedAt }) => openedAt >= first && openedAt <= to);
  return (toMinute(to) - first) / MINUTE + 1 - knownMinutes.length;
}

const toMinute = (at: number) => Math.floor(at / MINUTE) * MINUTE;
