import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { evaluatedOn, isSettled, outcomeOf, point, uncoveredMinutes } from "../../convex/signals/path";
import type { Levels } from "../../convex/signals/rules";
import type { Stretch } from "../../convex/signals/tables";
import { HOUR, MINUTE } from "./support";

/** Issued 20 s into a minute. */
const ISSUED = Date.UTC(2026, 0, 5, 8, 0, 20);
const EXPIRES = ISSUED + 6 * HOUR;
const AT_8 = Date.UTC(2026, 0, 5, 8);

const long: Levels = { signal: "BUY", entry: 100, tp1: 101, tp2: 102, sl: 99 };
const short: Levels = { signal: "SELL", entry: 100, tp1: 99, tp2: 98, sl: 101 };
const flat: Levels = { signal: "HOLD", entry: 100, tp1: null, tp2: null, sl: null };

/** The candle of a minute after 08:00. */
function candle(minute: number, prices: Partial<Record<"open" | "high" | "low" | "close", number>>): Stretch {
  const from = AT_8 + minute * MINUTE;
  const { open = 100, close = 100 } = prices;
  const { high = Math.max(open, close), low = Math.min(open, close) } = prices;
  return { from, to: from + MINUTE, open, high, low, close, by: "candle" };
}

/** Candles at 100 for every minute to the expiry's, but for what is given. */
function quiet(...others: Stretch[]): Stretch[] {
  const minutes = Array.from({ length: 362 }, (_, minute) => candle(minute, {}));
  return minutes.map((usual) => others.find(({ from }) => from === usual.from) ?? usual);
}

function end(levels: Levels, seen: readonly Stretch[], now = EXPIRES + 10 * MINUTE) {
  const signal = { ...levels, generatedAt: ISSUED, expiresAt: EXPIRES };
  return outcomeOf(signal, { seen, since: ISSUED, earlierGaps: 0, now });
}

describe("the first level touched decides", () => {
  test.each([
    ["a target, for good", [candle(30, { high: 101 }), candle(40, { low: 98 })], "WIN", 101, 30],
    ["a stop, for good", [candle(30, { low: 99 }), candle(40, { high: 105 })], "LOSS", 99, 30],
    ["the stop when one candle holds both", [candle(30, { low: 99, high: 101 })], "LOSS", 99, 30],
    ["a wick that no look at half past would have seen", [candle(17, { high: 101.2 })], "WIN", 101, 17],
  ] as const)("%s", (_name, seen, status, exitPrice, minute) => {
    expect(end(long, quiet(...seen))).toEqual({
      status,
      exitPrice,
      pnlPercent: status === "WIN" ? 1 : -1,
      closedAt: AT_8 + minute * MINUTE,
      decidedBy: "candle",
      gapMinutes: 0,
    });
    const other = seen.map((one) => ({ ...one, high: 200 - one.low, low: 200 - one.high }));
    expect(end(short, quiet(...other))).toMatchObject({ status, pnlPercent: status === "WIN" ? 1 : -1 });
  });

  test("nothing from before the issue counts, nor anything after the expiry", () => {
    expect(end(long, quiet(candle(0, { high: 101.5, close: 100.2 })))).toMatchObject({ status: "EXPIRED" });
    expect(end(long, quiet(candle(0, { close: 101 })))).toMatchObject({
      status: "WIN",
      closedAt: AT_8 + MINUTE,
    });
    const after = [
      candle(359, { close: 100.4 }),
      candle(360, { open: 100.4, high: 103 }),
      candle(361, { open: 103, high: 104, close: 104 }),
    ];
    expect(end(long, quiet(...after))).toEqual({
      status: "EXPIRED",
      exitPrice: 100.4,
      pnlPercent: 0.4,
      closedAt: EXPIRES,
      decidedBy: "candle",
      gapMinutes: 0,
    });
  });

  test("the adverse extreme of the issue's minute counts, as one that nobody can place", () => {
    const told = { status: "LOSS", closedAt: ISSUED };
    expect(end(long, quiet(candle(0, { high: 101.5, low: 99, close: 100.2 })))).toMatchObject(told);
    expect(end(short, quiet(candle(0, { high: 101, low: 98.5, close: 99.8 })))).toMatchObject(told);
    expect(end(long, quiet(candle(30, { high: 101, low: 99 })))).toMatchObject({
      status: "LOSS",
    });
    expect(end(long, quiet(candle(30, { low: 99 })))).toMatchObject({ status: "LOSS" });
  });

  test("a HOLD only expires, at the price of that moment and without a result", () => {
    expect(end(flat, quiet(candle(30, { high: 150, low: 50 })))).toMatchObject({
      ...{ status: "EXPIRED", exitPrice: 100, pnlPercent: null },
    });
  });

  test("it goes on before its expiry", () => {
    expect(end(long, quiet().slice(0, 100), AT_8 + 100 * MINUTE)).toBeNull();
  });
});

describe("what candles do not tell", () => {
  test("samples and a look at the price decide, with the minutes that nobody saw", () => {
    const seen = [point(AT_8 + 10 * MINUTE, 100.3, "sample"), point(AT_8 + 15 * MINUTE, 101.4, "sample")];
    expect(end(long, seen)).toEqual({
      ...{ status: "WIN", exitPrice: 101, pnlPercent: 1 },
      ...{ closedAt: AT_8 + 15 * MINUTE, decidedBy: "sample", gapMinutes: 14 },
    });
    expect(end(long, [point(AT_8 + 30 * MINUTE, 98, "sample")], AT_8 + 30 * MINUTE)).toMatchObject({
      ...{ status: "LOSS", decidedBy: "sample", gapMinutes: 29 },
    });
  });

  test("a look after the expiry closes it between its levels, whatever the price did meanwhile", () => {
    const late = (priceUsd: number, minutes: number) =>
      end(long, [point(EXPIRES + minutes * MINUTE, priceUsd, "sample")], EXPIRES + minutes * MINUTE);
    expect(late(105, 20)).toMatchObject({
      status: "EXPIRED",
      exitPrice: 101,
      decidedBy: "sample",
      gapMinutes: 360,
    });
    expect(late(100.5, 20)).toMatchObject({ status: "EXPIRED", exitPrice: 100.5 });
    expect(late(100.5, 40)).toBeNull();
    expect(late(100.5, 6 * 60)).toBeNull();
    expect(late(100.5, 6 * 60 + 1)).toEqual({
      ...{ status: "EXPIRED", exitPrice: null, pnlPercent: null },
      ...{ closedAt: EXPIRES, decidedBy: null, gapMinutes: 360 },
    });
  });

  test("a price of before the expiry decides before one of after it, however near that is", () => {
    const seen = quiet().slice(0, 358);
    const late = point(EXPIRES + 5_000, 102, "sample");
    expect(end(long, [...seen, late])).toEqual(end(long, seen));
    expect(end(flat, [...seen, late])).toEqual(end(flat, seen));
    expect(end(long, [...seen, candle(361, { open: 102, close: 102 })])).toEqual(end(long, seen));
  });

  test("a hole holds the walk up for two hours, and is a gap from then on", () => {
    const seen = quiet()
      .slice(0, 40)
      .filter(({ from }) => from < AT_8 + 20 * MINUTE || from >= AT_8 + 27 * MINUTE);
    const walked = (now: number) =>
      evaluatedOn({ evaluatedUntil: ISSUED, gapMinutes: 0, expiresAt: EXPIRES }, { seen, now });
    expect(walked(AT_8 + 2 * HOUR)).toEqual({ evaluatedUntil: AT_8 + 20 * MINUTE, gapMinutes: 0 });
    expect(walked(AT_8 + 2 * HOUR + 27 * MINUTE)).toEqual({
      evaluatedUntil: AT_8 + 40 * MINUTE,
      gapMinutes: 7,
    });
    expect([
      isSettled({ closedAt: AT_8, gapMinutes: 1 }, AT_8 + HOUR),
      isSettled({ closedAt: AT_8, gapMinutes: 0 }, AT_8),
    ]).toEqual([false, true]);
  });

  test("holes are counted in whole minutes, also those of earlier looks", () => {
    const seen = quiet().filter(({ from }) => from < AT_8 + 20 * MINUTE || from >= AT_8 + 27 * MINUTE);
    expect(end(long, seen)?.gapMinutes).toBe(7);
    expect(uncoveredMinutes(seen, ISSUED, AT_8 + 25 * MINUTE)).toBe(5);
    const later = outcomeOf(
      { ...long, generatedAt: ISSUED, expiresAt: EXPIRES },
      { seen: seen.slice(20), since: AT_8 + 27 * MINUTE, earlierGaps: 7, now: EXPIRES + MINUTE },
    );
    expect(later?.gapMinutes).toBe(7);
  });
});

describe("any path", () => {
  const minute = fc.record({
    low: fc.double({ min: 98, max: 100, noNaN: true }),
    high: fc.double({ min: 100, max: 102, noNaN: true }),
  });
  const walk = fc
    .array(minute, { minLength: 1, maxLength: 80 })
    .map((all) =>
      all.map(({ low, high }, index) => candle(index + 1, { low, high, open: low, close: high })),
    );

  test("ends the same whatever the order of its pieces, and whether looked at once or candle by candle", () => {
    fc.assert(
      fc.property(walk, fc.constantFrom(long, short, flat), (seen, levels) => {
        const now = EXPIRES + 10 * MINUTE;
        const whole = end(levels, seen, now);
        expect(end(levels, seen.toReversed(), now)).toEqual(whole);
        let [since, earlierGaps] = [ISSUED, 0];
        const signal = { ...levels, generatedAt: ISSUED, expiresAt: EXPIRES };
        for (const one of seen) {
          const outcome = outcomeOf(signal, { seen: [one], since, earlierGaps, now: one.to });
          if (outcome !== null) {
            expect(outcome).toEqual(whole);
            return;
          }
          earlierGaps += uncoveredMinutes([one], since, one.to);
          since = one.to;
        }
        expect(whole?.status === undefined || whole.status === "EXPIRED").toBe(true);
      }),
    );
  });

  test("ends at a level, or between its levels at expiry", () => {
    fc.assert(
      fc.property(walk, fc.constantFrom(long, short), (seen, levels) => {
        const now = EXPIRES + 7 * HOUR;
        const outcome = end(levels, [...seen, candle(361, { open: seen.at(-1)?.close ?? 100 })], now);
        if (outcome?.exitPrice == null || levels.tp1 === null || levels.sl === null)
          throw new Error("It has an end");
        const [low, high] = [levels.tp1, levels.sl].sort((a, b) => a - b);
        expect(outcome.exitPrice).toBeGreaterThanOrEqual(low ?? NaN);
        expect(outcome.exitPrice).toBeLessThanOrEqual(high ?? NaN);
        expect(outcome.closedAt).toBeGreaterThanOrEqual(ISSUED);
        expect(outcome.closedAt).toBeLessThanOrEqual(EXPIRES);
      }),
    );
  });
});

/** A walk of the minutes by the words of the rule, one price after the other: what touches first, the stop first. */
function walked(levels: Levels, seen: readonly Stretch[]) {
  const { signal, entry, tp1, sl } = levels;
  const isBuy = signal === "BUY";
  let last = entry;
  for (const { from, to, open, high, low, close } of seen) {
    if (from > EXPIRES) break;
    const isFirst = from < ISSUED;
    const isLast = to > EXPIRES;
    const prices = isLast
      ? [open]
      : isFirst
        ? [isBuy ? low : high, close]
        : [isBuy ? low : high, isBuy ? high : low];
    for (const price of prices) {
      if (sl !== null && (isBuy ? price <= sl : price >= sl)) return { status: "LOSS", exitPrice: sl };
      if (tp1 !== null && (isBuy ? price >= tp1 : price <= tp1)) return { status: "WIN", exitPrice: tp1 };
    }
    if (!isLast) last = close;
  }
  return { status: "EXPIRED", exitPrice: last };
}

test("on random paths ends as a walk of the minutes does, looked at whenever", () => {
  let state = 17;
  const random = () => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) / 2 ** 32;
  const kinds = new Set<string>();
  for (let n = 0; n < (process.env["FULL_PROOFS"] === "1" ? 10_000 : 1_000); n++) {
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
      return candle(minute, {
        open,
        close,
        high: Math.max(open, close) + wick,
        low: Math.min(open, close) - wick,
      });
    });
    const due = walked(levels, seen);
    const looks = [ISSUED + Math.floor(random() * 6 * HOUR), EXPIRES + 10 * MINUTE];
    let [since, earlierGaps] = [ISSUED, 0];
    let outcome = null;
    for (const now of looks) {
      const known = seen.filter(({ from, to }) => to <= now && to > since - MINUTE && from >= AT_8);
      const life = { ...levels, generatedAt: ISSUED, expiresAt: EXPIRES };
      outcome = outcomeOf(life, { seen: known, since, earlierGaps, now });
      if (outcome !== null) break;
      const further = evaluatedOn(
        { evaluatedUntil: since, gapMinutes: earlierGaps, expiresAt: EXPIRES },
        { seen: known, now },
      );
      if (further !== null) [since, earlierGaps] = [further.evaluatedUntil, further.gapMinutes];
    }
    expect({
      status: outcome?.status,
      exitPrice: outcome?.exitPrice,
      gapMinutes: outcome?.gapMinutes,
    }).toEqual({ ...due, gapMinutes: 0 });
    kinds.add(`${levels.signal} ${due.status}`);
  }
  expect(kinds.size).toBe(6);
});
