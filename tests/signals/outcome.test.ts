import { describe, expect, test } from "vitest";
import type { Levels } from "../../convex/signals/rules";
import { outcomeOf, type Minute } from "../../convex/signals/tracker";
import { HOUR, MINUTE } from "./support";

/** How a signal ends, from what is known of its price's path. */

/** Issued 20 s into a minute. */
const ISSUED = Date.UTC(2026, 0, 5, 8, 0, 20);
const EXPIRES = ISSUED + 6 * HOUR;
const AT_8 = Date.UTC(2026, 0, 5, 8);

const long: Levels = { signal: "BUY", entry: 100, tp1: 101, tp2: 102, sl: 99 };
const short: Levels = { signal: "SELL", entry: 100, tp1: 99, tp2: 98, sl: 101 };
const flat: Levels = { signal: "HOLD", entry: 100, tp1: null, tp2: null, sl: null };

/** The candle of a minute after 08:00. */
function candle(minute: number, prices: Partial<Record<"open" | "high" | "low" | "close", number>>): Minute {
  const openedAt = AT_8 + minute * MINUTE;
  const { open = 100, close = 100 } = prices;
  const { high = Math.max(open, close), low = Math.min(open, close) } = prices;
  return { openedAt, open, high, low, close };
}

/** Candles at 100 for every minute to the expiry's, but for what is given. */
function quiet(...others: Minute[]): Minute[] {
  const minutes = Array.from({ length: 362 }, (_, minute) => candle(minute, {}));
  return minutes.map((usual) => others.find(({ openedAt }) => openedAt === usual.openedAt) ?? usual);
}

const end = (levels: Levels, seen: readonly Minute[], now = EXPIRES + 10 * MINUTE) =>
  outcomeOf({ ...levels, generatedAt: ISSUED, expiresAt: EXPIRES }, seen, now);

describe("the first level touched decides", () => {
  test.each([
    ["a target, for good", [candle(30, { high: 101 }), candle(40, { low: 98 })], "WIN", 101, 30],
    ["a stop, for good", [candle(30, { low: 99 }), candle(40, { high: 105 })], "LOSS", 99, 30],
    ["the stop when one candle holds both", [candle(30, { low: 99, high: 101 })], "LOSS", 99, 30],
    ["a wick that no look at half past would have seen", [candle(17, { high: 101.2 })], "WIN", 101, 17],
  ] as const)("%s", (_name, seen, status, exitPrice, minute) => {
    const pnlPercent = status === "WIN" ? 1 : -1;
    const closedAt = AT_8 + minute * MINUTE;
    const due = { status, exitPrice, pnlPercent, closedAt, gapMinutes: 0 };
    expect(end(long, quiet(...seen))).toEqual(due);
    const other = seen.map((one) => ({ ...one, high: 200 - one.low, low: 200 - one.high }));
    expect(end(short, quiet(...other))).toMatchObject({ status, pnlPercent });
  });

  test("nothing from before the issue counts, nor anything after the expiry", () => {
    expect(end(long, quiet(candle(0, { high: 101.5, close: 100.2 })))).toMatchObject({ status: "EXPIRED" });
    const won = { status: "WIN", closedAt: AT_8 + MINUTE };
    expect(end(long, quiet(candle(0, { close: 101 })))).toMatchObject(won);
    const after = [
      candle(359, { close: 100.4 }),
      candle(360, { open: 100.4, high: 103 }),
      candle(361, { open: 103, high: 104, close: 104 }),
    ];
    const expired = { status: "EXPIRED", exitPrice: 100.4, pnlPercent: 0.4, closedAt: EXPIRES };
    expect(end(long, quiet(...after))).toEqual({ ...expired, gapMinutes: 0 });
  });

  test("the adverse extreme of the issue's minute counts, as one that nobody can place", () => {
    const lost = { status: "LOSS", closedAt: ISSUED };
    expect(end(long, quiet(candle(0, { high: 101.5, low: 99, close: 100.2 })))).toMatchObject(lost);
    expect(end(short, quiet(candle(0, { high: 101, low: 98.5, close: 99.8 })))).toMatchObject(lost);
  });

  test("a HOLD only expires, at the price of that moment and without a result", () => {
    const expired = { status: "EXPIRED", exitPrice: 100, pnlPercent: null };
    expect(end(flat, quiet(candle(30, { high: 150, low: 50 })))).toMatchObject(expired);
  });

  test("it is open before its expiry", () => {
    expect(end(long, quiet().slice(0, 100), AT_8 + 100 * MINUTE)).toBeNull();
  });
});

describe("what candles do not tell", () => {
  test("an outcome with a hole before it waits for two hours, and has a gap from then on", () => {
    const seen = quiet(candle(30, { high: 101 })).filter(
      ({ openedAt }) => openedAt < AT_8 + 20 * MINUTE || openedAt >= AT_8 + 27 * MINUTE,
    );
    expect(end(long, seen, AT_8 + 2 * HOUR)).toBeNull();
    const late = AT_8 + 30 * MINUTE + 2 * HOUR;
    expect(end(long, seen, late)).toMatchObject({ status: "WIN", gapMinutes: 7 });
    const filled = quiet(candle(30, { high: 101 }), candle(22, { low: 99 }));
    expect(end(long, filled, late)).toMatchObject({ status: "LOSS", gapMinutes: 0 });
  });

  test("without any price near its expiry it ends without a result, when its life has passed again", () => {
    expect(end(long, [], ISSUED + 12 * HOUR)).toBeNull();
    const nothing = { status: "EXPIRED", exitPrice: null, pnlPercent: null };
    expect(end(long, [], ISSUED + 12 * HOUR + 1)).toMatchObject({ ...nothing, gapMinutes: 361 });
  });
});

/** A walk of the minutes by the words of the rule, one price after the other: what touches first, the stop first. */
function walked(levels: Levels, seen: readonly Minute[]) {
  const { signal, entry, tp1, sl } = levels;
  const isBuy = signal === "BUY";
  let last = entry;
  for (const { openedAt, open, high, low, close } of seen) {
    if (openedAt > EXPIRES) break;
    const isFirst = openedAt < ISSUED;
    const isLast = openedAt + MINUTE > EXPIRES;
    const [worst, best] = isBuy ? [low, high] : [high, low];
    const prices = isLast ? [open] : isFirst ? [worst, close] : [worst, best];
    for (const price of prices) {
      if (sl !== null && (isBuy ? price <= sl : price >= sl)) return { status: "LOSS", exitPrice: sl };
      if (tp1 !== null && (isBuy ? price >= tp1 : price <= tp1)) return { status: "WIN", exitPrice: tp1 };
    }
    if (!isLast) last = close;
  }
  return { status: "EXPIRED", exitPrice: last };
}

/** `FULL_PROOFS=1` runs every trial; the suite runs a share of them. */
const PATHS = process.env["FULL_PROOFS"] === "1" ? 10_000 : 500;

test("on random paths ends as a walk of the minutes does, looked at whenever", () => {
  let state = 17;
  const random = () => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) / 2 ** 32;
  const kinds = new Set<string>();
  for (let n = 0; n < PATHS; n++) {
    const side = random() < 0.5 ? 1 : -1;
    const [near, far] = [0.2 + 2 * random(), 0.2 + 2 * random()];
    const [tp1, sl] = [100 + side * near, 100 - side * far];
    const levels: Levels = { signal: side === 1 ? "BUY" : "SELL", entry: 100, tp1, tp2: tp1, sl };
    const volatility = 0.02 + 0.1 * random();
    let price = 100;
    const seen = Array.from({ length: 366 }, (_, minute) => {
      const open = price;
      const close = (price += volatility * (random() - 0.5) * 2);
      const wick = volatility * random();
      const [high, low] = [Math.max(open, close) + wick, Math.min(open, close) - wick];
      return candle(minute, { open, close, high, low });
    });
    const due = walked(levels, seen);
    const known = (now: number) => seen.filter(({ openedAt }) => openedAt + MINUTE <= now);
    const early = ISSUED + Math.floor(random() * 6 * HOUR);
    const late = EXPIRES + 10 * MINUTE;
    const outcome = end(levels, known(early), early) ?? end(levels, known(late), late);
    expect(outcome).toMatchObject({ ...due, gapMinutes: 0 });
    // In whatever order the minutes are told.
    if (n % 10 === 0) expect(end(levels, known(late).toReversed(), late)).toMatchObject(due);
    kinds.add(`${levels.signal} ${due.status}`);
  }
  expect(kinds.size).toBe(6);
});
