import { v, type Infer } from "convex/values";
import { MINUTE } from "../../lib/time";
import { LIFETIME_MS, pnlPercent, positionOf, type Levels, type Position } from "./rules";

/**
 * How a signal ends, from what is known of its price's path. Pure. Times are epoch ms, prices USD.
 *
 * The first level touched decides. In what order two levels were touched within one stretch (a minute's candle) nobody
 * can tell from its extremes: then it is the stop. Nothing counts from before the signal was issued or from after its
 * expiry, so of the candle in which it was issued only the close counts, and of the one in which it expires only the
 * open. What that leaves in the dark is less than a minute at each end, and a candle that holds both levels: under 1 % of
 * labels (`npm run test:long -- labels`).
 */

export const vDecider = v.union(v.literal("candle"), v.literal("sample"), v.literal("price"));
type Decider = Infer<typeof vDecider>;

/** What is known of the price in [from, to]: a candle. A sample, or a price looked at, has no length. */
export const vStretch = v.object({
  from: v.number(),
  to: v.number(),
  open: v.number(),
  high: v.number(),
  low: v.number(),
  close: v.number(),
  by: vDecider,
});
export type Stretch = Infer<typeof vStretch>;

export const vEnd = v.union(v.literal("WIN"), v.literal("LOSS"), v.literal("EXPIRED"));

export const vOutcome = v.object({
  status: vEnd,
  /** USD: the level touched, or the price at expiry, never beyond a level; `null` when nobody knew one. */
  exitPrice: v.union(v.number(), v.null()),
  /** Signed by direction, before costs; `null` for HOLD and without an exit price. */
  pnlPercent: v.union(v.number(), v.null()),
  /** The touch, to the candle's minute, or the expiry. */
  closedAt: v.number(),
  /** What told it; `null` when nothing did. */
  decidedBy: v.union(vDecider, v.null()),
  /** Whole minutes from the issue to the end that no candle covers. */
  gapMinutes: v.number(),
});
export type Outcome = Infer<typeof vOutcome>;

/**
 * The price at expiry is the last one known from this long before it. Only where there is none is it the first of this long
 * after it, since the tracker looks every 30 minutes: such a path has gaps, so that the result counts at most as chance.
 */
const BEFORE_EXPIRY_MS = 10 * MINUTE;
const AFTER_EXPIRY_MS = 35 * MINUTE;

/** One that nobody could price is closed without a result once it is expired for as long again as it lived. */
const UNPRICED_MS = 2 * LIFETIME_MS;

export function point(at: number, priceUsd: number, by: "sample" | "price"): Stretch {
  return { from: at, to: at, open: priceUsd, high: priceUsd, low: priceUsd, close: priceUsd, by };
}

/**
 * How a signal stands; `null` while it goes on.
 * @param seen What is known of the path since the signal was issued, in any order.
 * @param earlierGaps Minutes before the first of `seen` that no candle covers.
 * @param since Until when the path is known from earlier looks; the issue for the first.
 */
export function outcomeOf(
  signal: Levels & { generatedAt: number; expiresAt: number },
  {
    seen,
    since,
    earlierGaps,
    now,
  }: { seen: readonly Stretch[]; since: number; earlierGaps: number; now: number },
): Outcome | null {
  const { generatedAt, expiresAt } = signal;
  // What an earlier look has walked is over.
  const path = withinLife(signal, seen).filter(({ to }) => to > since || since === generatedAt);
  const gapsUntil = (end: number) => earlierGaps + uncoveredMinutes(seen, since, end);
  const position = positionOf(signal);
  const touch = position === null ? null : firstTouch(position, path);
  if (touch !== null) {
    const closedAt = Math.max(touch.at, generatedAt);
    return {
      status: touch.status,
      exitPrice: touch.level,
      pnlPercent: pnlPercent(signal.signal, signal.entry, touch.level),
      closedAt,
      decidedBy: touch.by,
      gapMinutes: gapsUntil(Math.max(closedAt, since)),
    };
  }
  if (now < expiresAt) return null;
  const last = priceAt(expiresAt, seen);
  if (last === null) {
    if (now - generatedAt <= UNPRICED_MS) return null;
    const unknown = { exitPrice: null, pnlPercent: null, decidedBy: null };
    return { status: "EXPIRED", ...unknown, closedAt: expiresAt, gapMinutes: gapsUntil(expiresAt) };
  }
  const exitPrice = position === null ? last.priceUsd : between(position.sl, last.priceUsd, position.tp1);
  return {
    status: "EXPIRED",
    exitPrice,
    pnlPercent: pnlPercent(signal.signal, signal.entry, exitPrice),
    closedAt: expiresAt,
    decidedBy: last.by,
    gapMinutes: gapsUntil(expiresAt),
  };
}

/** What of the stretches lies in the signal's life, in order. */
function withinLife(
  { generatedAt, expiresAt }: { generatedAt: number; expiresAt: number },
  seen: readonly Stretch[],
) {
  return seen
    .flatMap((one): Stretch[] => {
      if (one.to < generatedAt || one.from > expiresAt) return [];
      if (one.from >= generatedAt && one.to <= expiresAt) return [one];
      if (one.to <= expiresAt) return [{ ...at(one.close, one.to), by: one.by }];
      return one.from >= generatedAt ? [{ ...at(one.open, one.from), by: one.by }] : [];
    })
    .toSorted((a, b) => a.from - b.from || a.to - b.to);
}

function at(priceUsd: number, time: number) {
  return { from: time, to: time, open: priceUsd, high: priceUsd, low: priceUsd, close: priceUsd };
}

function firstTouch({ signal, tp1, sl }: Position, path: readonly Stretch[]) {
  for (const { from, high, low, by } of path) {
    const stopped = signal === "BUY" ? low <= sl : high >= sl;
    if (stopped) return { status: "LOSS" as const, level: sl, at: from, by };
    const won = signal === "BUY" ? high >= tp1 : low <= tp1;
    if (won) return { status: "WIN" as const, level: tp1, at: from, by };
  }
  return null;
}

/** The last known price up to a moment, else the first one behind it; of two at the same time, a candle's. */
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

/** Candles, and beside them what else is known of times that no candle covers. */
export function assembled(candles: readonly Stretch[], points: readonly Stretch[]): Stretch[] {
  const covers = ({ from, to }: Stretch, time: number) => from <= time && time <= to;
  return [...candles, ...points.filter((one) => !candles.some((candle) => covers(candle, one.from)))];
}

/** Whole minutes of [from, to] that no candle covers. */
export function uncoveredMinutes(seen: readonly Stretch[], from: number, to: number): number {
  let known = from;
  let uncovered = 0;
  for (const one of seen.filter(({ by }) => by === "candle").toSorted((a, b) => a.from - b.from)) {
    if (one.from >= to) break;
    uncovered += Math.max(0, one.from - known);
    known = Math.max(known, one.to);
  }
  uncovered += Math.max(0, to - known);
  return Math.floor(uncovered / MINUTE);
}

/** Until when the candles among the stretches tell the path; `since` without any. */
export function knownUntil(seen: readonly Stretch[], since: number): number {
  return seen.reduce((latest, { to, by }) => (by === "candle" ? Math.max(latest, to) : latest), since);
}

/** How far beyond earlier looks the candles tell the path of a signal that goes on; `null`: no further. */
export function walkedOn(
  {
    walkedUntil: since,
    gapMinutes,
    expiresAt,
  }: { walkedUntil: number; gapMinutes: number; expiresAt: number },
  seen: readonly Stretch[],
): { walkedUntil: number; gapMinutes: number } | null {
  const walkedUntil = Math.min(knownUntil(seen, since), expiresAt);
  if (walkedUntil === since) return null;
  return { walkedUntil, gapMinutes: gapMinutes + uncoveredMinutes(seen, since, walkedUntil) };
}
