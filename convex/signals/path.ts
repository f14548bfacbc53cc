import { HOUR, MINUTE } from "../lib/time";
import { LIFETIME_MS, pnlPercent, positionOf, type Levels, type Position } from "./rules";
import type { Decider, Outcome, Stretch } from "./tables";

/**
 * How a signal ends, from what is known of its price's path. Pure. Times are epoch ms, prices USD.
 *
 * The first level touched decides. In what order two levels were touched within one minute's candle nobody can tell from
 * its extremes: then it is the stop. Of the candle in which the signal was issued nobody can tell what came before the
 * issue, so its close and its adverse extreme count. Nothing counts from after the expiry: of the candle in which it lies
 * only the open does.
 */

/**
 * The price at expiry is the last known one within this time before it. If there is none, it is the first one within
 * this time after it, because the tracker looks every 30 minutes: such a path has gaps, so the result counts at most as
 * chance.
 */
const BEFORE_EXPIRY_MS = 10 * MINUTE;
const AFTER_EXPIRY_MS = 35 * MINUTE;

/** Missing candles may only be late: an outcome without them waits for them this long. */
const PATIENCE_MS = 2 * HOUR;

/** A signal without any price is closed without a result once the time of its life has passed again. */
const UNPRICED_MS = 2 * LIFETIME_MS;

/** A price at one moment, as a part of a path. */
export function point(at: number, priceUsd: number, by: Decider): Stretch {
  return { from: at, to: at, open: priceUsd, high: priceUsd, low: priceUsd, close: priceUsd, by };
}

type Life = Levels & { generatedAt: number; expiresAt: number };

/**
 * The outcome of a signal; `null` while it is open.
 * @param seen The known path, in any order.
 * @param earlierGaps Minutes before `since` that no candle covers.
 * @param since Until when the path is known from earlier looks; the issue for the first.
 */
export function outcomeOf(
  signal: Life,
  {
    seen,
    since,
    earlierGaps,
    now,
  }: { seen: readonly Stretch[]; since: number; earlierGaps: number; now: number },
): Outcome | null {
  const { generatedAt, expiresAt } = signal;
  const position = positionOf(signal);
  // Parts that an earlier look has covered are done.
  const path = withinLife(signal, position, seen).filter(({ to }) => to > since || since === generatedAt);
  const ended = (
    status: Outcome["status"],
    exitPrice: number | null,
    { at, by }: { at: number; by: Decider | null },
  ): Outcome => ({
    status,
    exitPrice,
    closedAt: at,
    decidedBy: by,
    pnlPercent: exitPrice === null ? null : pnlPercent(signal.signal, signal.entry, exitPrice),
    gapMinutes: earlierGaps + uncoveredMinutes(seen, since, Math.max(at, since)),
  });
  const touch = position === null ? null : firstTouch(position, path, generatedAt);
  if (touch !== null)
    return ended(touch.status, touch.level, { by: touch.by, at: Math.max(touch.at, generatedAt) });
  if (now < expiresAt) return null;
  const last = priceAt(expiresAt, seen);
  const how = { at: expiresAt, by: last?.by ?? null };
  if (last === null) return now - generatedAt <= UNPRICED_MS ? null : ended("EXPIRED", null, how);
  const { priceUsd } = last;
  return ended("EXPIRED", position === null ? priceUsd : between(position.sl, priceUsd, position.tp1), how);
}

/** The parts of the stretches within the signal's life, in order. */
function withinLife(
  { generatedAt, expiresAt }: Life,
  position: Position | null,
  seen: readonly Stretch[],
): Stretch[] {
  return seen
    .flatMap((one) => {
      if (one.to < generatedAt || one.from > expiresAt) return [];
      if (one.from >= generatedAt) return one.to <= expiresAt ? one : point(one.from, one.open, one.by);
      return one.to <= expiresAt ? ofIssue(one, position) : [];
    })
    .toSorted((a, b) => a.from - b.from || a.to - b.to);
}

/** The candle in which the signal was issued: its close, and how far it went against the position. */
function ofIssue(one: Stretch, position: Position | null): Stretch {
  const { close } = one;
  const high = position?.signal === "SELL" ? one.high : close;
  const low = position?.signal === "BUY" ? one.low : close;
  return { ...one, open: close, high, low };
}

function firstTouch({ signal, tp1, sl }: Position, path: readonly Stretch[], generatedAt: number) {
  for (const { from, to, high, low, by } of path) {
    const isStopped = signal === "BUY" ? low <= sl : high >= sl;
    const isWon = signal === "BUY" ? high >= tp1 : low <= tp1;
    if (isStopped) return { status: "LOSS" as const, level: sl, at: from, by };
    // In the candle of issue, its close has won.
    if (isWon) return { status: "WIN" as const, level: tp1, at: from < generatedAt ? to : from, by };
  }
  return null;
}

/** The last known price up to a moment, otherwise the first one after it; of two at the same time, that of a candle. */
function priceAt(moment: number, seen: readonly Stretch[]): { priceUsd: number; by: Decider } | null {
  const known = seen
    .flatMap(({ from, to, open, close, by }) => [
      { time: from, priceUsd: open, by },
      { time: to, priceUsd: close, by },
    ])
    .filter(({ time }) => time >= moment - BEFORE_EXPIRY_MS && time <= moment + AFTER_EXPIRY_MS)
    .toSorted(
      (a, b) =>
        Number(a.time > moment) - Number(b.time > moment) ||
        Math.abs(a.time - moment) - Math.abs(b.time - moment) ||
        Number(b.by === "candle") - Number(a.by === "candle") ||
        a.time - b.time,
    );
  return known[0] ?? null;
}

function between(one: number, value: number, other: number): number {
  return Math.min(Math.max(value, Math.min(one, other)), Math.max(one, other));
}

/** Candles, and other prices for times that no candle covers. */
export function assembled(candles: readonly Stretch[], points: readonly Stretch[]): Stretch[] {
  const covers = ({ from, to }: Stretch, time: number) => from <= time && time <= to;
  return [...candles, ...points.filter((one) => !candles.some((candle) => covers(candle, one.from)))];
}

/** Whole minutes of [from, to] that no candle covers. */
export function uncoveredMinutes(seen: readonly Stretch[], from: number, to: number): number {
  let known = from;
  let uncovered = 0;
  for (const one of candlesIn(seen)) {
    if (one.from >= to) break;
    uncovered += Math.max(0, one.from - known);
    known = Math.max(known, one.to);
  }
  uncovered += Math.max(0, to - known);
  return Math.floor(uncovered / MINUTE);
}

/** Whether candles can no longer change the outcome of a path up to a moment. */
export function isSettled(
  { closedAt, gapMinutes }: { closedAt: number; gapMinutes: number },
  now: number,
): boolean {
  return gapMinutes === 0 || now >= closedAt + PATIENCE_MS;
}

/** How far beyond earlier looks the path of an open signal is finally known; `null` if no further. */
export function evaluatedOn(
  {
    evaluatedUntil: since,
    gapMinutes,
    expiresAt,
  }: { evaluatedUntil: number; gapMinutes: number; expiresAt: number },
  { seen, now }: { seen: readonly Stretch[]; now: number },
): { evaluatedUntil: number; gapMinutes: number } | null {
  const evaluatedUntil = Math.min(settledUntil(seen, since, now), expiresAt);
  if (evaluatedUntil === since) return null;
  return { evaluatedUntil, gapMinutes: gapMinutes + uncoveredMinutes(seen, since, evaluatedUntil) };
}

/** Until when candles cover the path, up to the first gap that may still be filled; `since` if there are none. */
function settledUntil(seen: readonly Stretch[], since: number, now: number): number {
  let known = since;
  for (const { from, to } of candlesIn(seen)) {
    if (from > known && now < from + PATIENCE_MS) break;
    known = Math.max(known, to);
  }
  return known;
}

function candlesIn(seen: readonly Stretch[]): Stretch[] {
  return seen.filter(({ by }) => by === "candle").toSorted((a, b) => a.from - b.from);
}
