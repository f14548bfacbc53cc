import { v } from "convex/values";
import { internal } from "../_generated/api";
import type { Id } from "../_generated/dataModel";
import { internalQuery } from "../_generated/server";
import { change } from "../lib/changes";
import { cron } from "../lib/cronRuns";
import { HOUR, MINUTE } from "../lib/time";
import { closeSignal, signalIn } from "./model";
import { LIFETIME_MS, pnlPercent, positionOf, type Levels, type Position } from "./rules";
import { vOutcome, vSignal, type Outcome, type Signal } from "./tables";

/**
 * The outcome tracker, the one place where it is decided how a signal ends. Each look walks a signal's whole life along
 * one-minute candles; samples of the live price stand in for minutes without one. If a look is lost, the next one does its
 * work. Only measured prices decide: a record built on a language model's market data would be worth nothing.
 *
 * The first level touched decides. In what order two levels were touched within one candle nobody can tell from its
 * extremes: then it is the stop. Of the candle in which the signal was issued nobody can tell what came before the issue,
 * so its close and its adverse extreme count. Nothing counts from after the expiry: of the candle in which it lies only the
 * open does. Times are epoch ms, prices USD.
 */

/** How many open signals one look takes up, oldest first: a token has one a day, which lives for hours. */
const BATCH = 20;

export const track = cron("track signal outcomes", async (ctx) => {
  const open = await ctx.db
    .query("signals")
    .withIndex("by_status", (q) => q.eq("status", "PENDING"))
    .first();
  if (open !== null) await ctx.scheduler.runAfter(0, internal.signals.actions.look, {});
});

export const open = internalQuery({
  args: {},
  returns: v.array(v.object({ id: v.id("signals"), signal: vSignal })),
  handler: async (ctx): Promise<{ id: Id<"signals">; signal: Signal }[]> => {
    const rows = await ctx.db
      .query("signals")
      .withIndex("by_status", (q) => q.eq("status", "PENDING"))
      .take(BATCH);
    return rows.map((row) => ({ id: row._id, signal: signalIn(row) }));
  },
});

/** Ends a signal, once. */
export const close = change({ id: v.id("signals"), outcome: vOutcome }, async (ctx, { id, outcome }) => {
  const row = await ctx.db.get("signals", id);
  if (row?.status === "PENDING") await closeSignal(ctx, row, outcome);
});

/** The price in [from, to]: a candle. A sample has no length. */
export type Stretch = {
  from: number;
  to: number;
  open: number;
  high: number;
  low: number;
  close: number;
  by: Exclude<Outcome["decidedBy"], null>;
};

/** A price at one moment, as a part of a path. */
export function point(at: number, priceUsd: number, by: Stretch["by"]): Stretch {
  return { from: at, to: at, open: priceUsd, high: priceUsd, low: priceUsd, close: priceUsd, by };
}

/** Missing candles may only be late: an outcome without them waits for them this long. */
const PATIENCE_MS = 2 * HOUR;
/** A signal without any price is closed without a result once the time of its life has passed again. */
const UNPRICED_MS = 2 * LIFETIME_MS;
/** The price at expiry is the last known one; an older one than this is none. */
const STALE_MS = 10 * MINUTE;

type Life = Levels & { generatedAt: number; expiresAt: number };
type End = Pick<Outcome, "status" | "exitPrice" | "closedAt" | "decidedBy">;

/** How a signal ends; `null` while it is open. @param seen What is known of its price's path, in any order. */
export function outcomeOf(signal: Life, seen: readonly Stretch[], now: number): Outcome | null {
  const { entry, generatedAt, expiresAt } = signal;
  const position = positionOf(signal);
  const path = pathOf(seen);
  const touch = position === null ? null : firstTouch(position, withinLife(signal, position, path));
  const end = touch ?? (now < expiresAt ? null : expiry(signal, position, path));
  if (end === null) return null;
  const gapMinutes = missingMinutes(path, generatedAt, end.closedAt);
  const isFinal =
    end.exitPrice === null ? now - generatedAt > UNPRICED_MS : now >= end.closedAt + PATIENCE_MS;
  if (gapMinutes > 0 && !isFinal) return null;
  const result = end.exitPrice === null ? null : pnlPercent(signal.signal, entry, end.exitPrice);
  return { ...end, pnlPercent: result, gapMinutes };
}

/** In order; samples only for times that no candle covers. */
function pathOf(seen: readonly Stretch[]): Stretch[] {
  const candles = new Set(seen.flatMap(({ by, from }) => (by === "candle" ? [from] : [])));
  return seen
    .filter(({ by, from }) => by === "candle" || !candles.has(minuteOf(from)))
    .toSorted((a, b) => a.from - b.from || a.to - b.to);
}

const minuteOf = (at: number) => Math.floor(at / MINUTE) * MINUTE;

/** What of the path counts. */
function withinLife(
  { generatedAt, expiresAt }: Life,
  position: Position,
  path: readonly Stretch[],
): Stretch[] {
  return path.flatMap((one) => {
    const { from, to, open, high, low, close, by } = one;
    if (from > expiresAt || to <= generatedAt) return [];
    if (to > expiresAt) return [point(from, open, by)];
    if (from >= generatedAt) return [one];
    return [point(generatedAt, position.signal === "BUY" ? low : high, by), point(to, close, by)];
  });
}

function firstTouch({ signal, tp1, sl }: Position, path: readonly Stretch[]): End | null {
  for (const { from, high, low, by } of path) {
    const isStopped = signal === "BUY" ? low <= sl : high >= sl;
    const isWon = signal === "BUY" ? high >= tp1 : low <= tp1;
    if (isStopped) return { status: "LOSS", exitPrice: sl, closedAt: from, decidedBy: by };
    if (isWon) return { status: "WIN", exitPrice: tp1, closedAt: from, decidedBy: by };
  }
  return null;
}

/** Without a touch the price is between stop and target. */
function expiry({ expiresAt }: Life, position: Position | null, path: readonly Stretch[]): End {
  const opens = path.map(({ from, open, by }) => ({ at: from, price: open, by }));
  const closes = path.map(({ to, close, by }) => ({ at: to, price: close, by }));
  const last = [...opens, ...closes]
    .toSorted((a, b) => a.at - b.at)
    .findLast(({ at }) => at <= expiresAt && at >= expiresAt - STALE_MS);
  if (last === undefined) return { status: "EXPIRED", exitPrice: null, closedAt: expiresAt, decidedBy: null };
  const { tp1, sl } = position ?? { tp1: -Infinity, sl: Infinity };
  const exitPrice = Math.min(Math.max(last.price, Math.min(tp1, sl)), Math.max(tp1, sl));
  return { status: "EXPIRED", exitPrice, closedAt: expiresAt, decidedBy: last.by };
}

/** The minutes from one moment to another, with those in which they lie, that no candle covers. */
function missingMinutes(path: readonly Stretch[], from: number, to: number): number {
  const first = minuteOf(from);
  const known = path.filter((one) => one.by === "candle" && one.from >= first && one.from <= to);
  return (minuteOf(to) - first) / MINUTE + 1 - known.length;
}
