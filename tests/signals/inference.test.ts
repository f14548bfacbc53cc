import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { sha256Hex } from "../../convex/lib/security/digests";
import {
  addDay,
  boundsOf,
  DECISIVE,
  eValueOf,
  LEAST_EXCESS,
  NO_BLOCKS,
} from "../../convex/signals/statistics/inference";
import { coinFlip, dayTradeOf, mirrored, momentumOf } from "../../convex/signals/trade/controls";
import { breakEvenOf, chanceOf, leastExcess, mostExcess } from "../../convex/signals/trade/rules";
import { claims, SETTINGS } from "./histories/edges";
import { lookDaily } from "./histories/signalHistories";

const day = fc.double({ min: -5 / 9, max: 1, noNaN: true });
const days = fc.array(day, { maxLength: 120 });
const blocksOf = (all: readonly number[]) => all.reduce((blocks, x) => addDay(blocks, x), NO_BLOCKS);
const seenOf = (all: readonly number[]) => ({ least: blocksOf(all), most: blocksOf(all) });

const STAKES = [0.1, 0.2, 0.3, 0.4, 0.8, 1.2];

/** The definition, from every day at once: the remainder's integral summed by Simpson's rule. */
function wealth(all: readonly number[], m: number, sign: 1 | -1): number {
  const least = sign === 1 ? LEAST_EXCESS - m : m - 1;
  const logs = STAKES.map((most) => {
    const stake = Math.min(most, -0.7 / least);
    const worst = integral((s) => s ** 3 / (1 + stake * least * s));
    return all
      .map((x) => stake * sign * (x - m))
      .reduce((sum, u) => sum + u - u ** 2 / 2 + u ** 3 / 3 - worst * u ** 4, 0);
  });
  return logs.reduce((sum, log) => sum + Math.exp(log), 0) / STAKES.length;
}

function integral(of: (s: number) => number): number {
  const parts = 400;
  let sum = of(0) + of(1);
  for (let i = 1; i < parts; i++) sum += (i % 2 === 0 ? 2 : 4) * of(i / parts);
  return sum / (3 * parts);
}

describe("the e-value", () => {
  test("is as defined, to a billionth", () => {
    fc.assert(
      fc.property(days, (all) => {
        const told = eValueOf(blocksOf(all));
        expect(Math.abs(told - wealth(all, 0, 1))).toBeLessThan(1e-9 * Math.max(1, told));
      }),
    );
  });

  test("is at most what the bets have really won, and nearly that", () => {
    fc.assert(
      fc.property(days, (all) => {
        const really = STAKES.map((stake) => all.reduce((wealth, x) => wealth * (1 + stake * x), 1));
        const mean = really.reduce((sum, one) => sum + one, 0) / really.length;
        expect(eValueOf(blocksOf(all))).toBeLessThanOrEqual(mean * (1 + 1e-12));
      }),
    );
    const usual = Array.from({ length: 365 }, (_, n) => (n % 5 < 3 ? 0.4 : -0.45));
    const won = STAKES.map((stake) => usual.reduce((wealth, x) => wealth * (1 + stake * x), 1));
    expect(
      eValueOf(blocksOf(usual)) / (won.reduce((sum, one) => sum + one, 0) / STAKES.length),
    ).toBeGreaterThan(0.8);
  });

  test("is 1 without a day", () => {
    expect([eValueOf(NO_BLOCKS), boundsOf(seenOf([]))]).toEqual([1, { low: LEAST_EXCESS, high: 1 }]);
  });

  test("gains nothing on average from a fair day, whatever came before", () => {
    fc.assert(
      fc.property(days, fc.double({ min: 0.05, max: 5 / 9, noNaN: true }), (all, chance) => {
        const before = blocksOf(all);
        // A win of 1 - chance with this chance, else a loss of it.
        const after =
          chance * eValueOf(addDay(before, 1 - chance)) + (1 - chance) * eValueOf(addDay(before, -chance));
        expect(after).toBeLessThanOrEqual(eValueOf(before) * (1 + 1e-9));
      }),
    );
  });

  test.each([-0.56, 1.01, NaN, Infinity])("takes no day of %d", (excess) => {
    expect(() => addDay(NO_BLOCKS, excess)).toThrow(RangeError);
  });
});

describe("the confidence sequence", () => {
  test("is of the means that no gambler has ruled out, to a billionth", () => {
    fc.assert(
      fc.property(fc.array(day, { minLength: 10, maxLength: 400 }), (all) => {
        const { low, high } = boundsOf(seenOf(all));
        expect(low).toBeLessThanOrEqual(high);
        if (low > LEAST_EXCESS) {
          expect(wealth(all, low - 1e-9, 1)).toBeGreaterThanOrEqual(DECISIVE * (1 - 1e-9));
          expect(wealth(all, low + 1e-9, 1)).toBeLessThan(DECISIVE * (1 + 1e-9));
        }
        if (high < 1) {
          expect(wealth(all, high + 1e-9, -1)).toBeGreaterThanOrEqual(DECISIVE * (1 - 1e-9));
          expect(wealth(all, high - 1e-9, -1)).toBeLessThan(DECISIVE * (1 + 1e-9));
        }
      }),
      { numRuns: 60 },
    );
  });

  test("rules out 0 exactly when the e-value does", () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: -0.5, max: 0.7, noNaN: true }), { minLength: 60, maxLength: 400 }),
        (all) => {
          const seen = seenOf(all);
          expect(boundsOf(seen).low > 0).toBe(eValueOf(seen.least) > DECISIVE);
        },
      ),
    );
  });
});

describe("the excess over chance", () => {
  const geometry = fc
    .record({
      signal: fc.constantFrom("BUY" as const, "SELL" as const),
      entry: fc.double({ min: 10, max: 1e5, noNaN: true }),
      reward: fc.double({ min: 0.002, max: 0.05, noNaN: true }),
      ratio: fc.double({ min: 0.8, max: 5, noNaN: true }),
    })
    .map(({ signal, entry, reward, ratio }) => {
      const side = signal === "BUY" ? 1 : -1;
      return { signal, entry, tp1: entry * (1 + side * reward), sl: entry * (1 - (side * reward) / ratio) };
    });

  test("is 1 - chance at the target, - chance at the stop, 0 at the entry; other days count as a share between", () => {
    fc.assert(
      fc.property(geometry, (position) => {
        const chance = chanceOf(position);
        const at = (exitPrice: number | null, gapMinutes = 0) =>
          leastExcess(position, { exitPrice, gapMinutes, inDoubt: false });
        const most = (exitPrice: number | null, gapMinutes = 0, inDoubt = false) =>
          mostExcess(position, { exitPrice, gapMinutes, inDoubt });
        expect(chance).toBeLessThanOrEqual(5 / 9 + 1e-9);
        expect(at(position.tp1)).toBeCloseTo(1 - chance, 9);
        expect(at(position.sl)).toBeCloseTo(-chance, 9);
        expect(at(position.entry)).toBeCloseTo(0, 9);
        expect([at(null), at(position.tp1, 6), at(position.sl, 6)]).toEqual([-chance, 0, at(position.sl)]);
        expect([most(null), most(position.sl, 6), most(position.tp1, 6)]).toEqual([
          1 - chance,
          0,
          at(position.tp1),
        ]);
        expect([most(position.sl), most(position.sl, 0, true)]).toEqual([at(position.sl), 1 - chance]);
        const width = Math.abs(position.tp1 - position.sl) / position.entry;
        expect(breakEvenOf(position, 15)).toBeCloseTo(0.0015 / width, 9);
        expect(at(position.tp1, 5)).toBe(at(position.tp1));
      }),
    );
  });

  test("is nothing on average, whatever the levels and the time limit, on a price without direction", () => {
    const { found, excess } = lookDaily({ histories: 60, days: 365, seed: 11 }, 0);
    expect(Math.abs(excess)).toBeLessThan(0.006);
    expect(found).toBeLessThanOrEqual(3);
  });

  test("of 5 and of 10 points is found (10,000 histories: npm run test:long -- edge)", () => {
    const five = lookDaily({ histories: 40, days: 365, seed: 5 }, 0.05);
    const ten = lookDaily({ histories: 20, days: 365, seed: 5 }, 0.1);
    expect([five.found >= 22, ten.found]).toEqual([true, 20]);
  });
});

describe("the control arms", () => {
  test("a coin is flipped by the hash of what stands before the signal, and nobody's choice", () => {
    const seeds = Array.from({ length: 400 }, (_, n) => sha256Hex(String(n)));
    const flips = seeds.map((seed) => coinFlip(seed, "BTC", "2026-01-05"));
    expect(flips).toEqual(seeds.map((seed) => coinFlip(seed, "BTC", "2026-01-05")));
    const buys = flips.filter((side) => side === "BUY").length;
    expect(Math.abs(buys - 200)).toBeLessThan(40);
    expect(coinFlip("0".repeat(64), "BTC", "2026-01-05")).toBe(
      /^[0-7]/.test(sha256Hex(`${"0".repeat(64)} BTC 2026-01-05`)) ? "BUY" : "SELL",
    );
    expect([momentumOf(100, 99), momentumOf(100, 101), momentumOf(100, null)]).toEqual(["BUY", "SELL", null]);
  });

  test("have the signal's own trade, or the one the other way round with levels as far away", () => {
    const position = { signal: "BUY" as const, entry: 100, tp1: 102, sl: 99 };
    expect(mirrored(position)).toEqual({ signal: "SELL", entry: 100, tp1: 98, sl: 101 });
    const compared = {
      ...{ mirrorStatus: "LOSS" as const, mirrorExitPrice: 101, mirrorGapMinutes: 3, mirrorInDoubt: false },
      ...{ holdExitPrice: 100.5, decidedBy: "candle" as const },
    };
    const own = { position, exitPrice: 102, gapMinutes: 0, inDoubt: false, costBps: 15 };
    const other = {
      position: mirrored(position),
      exitPrice: 101,
      gapMinutes: 3,
      inDoubt: false,
      costBps: 15,
    };
    const ended = { ...position, tp2: 103, exitPrice: 102, gapMinutes: 0, costBps: 15, compared };
    const alike = { model: own, alwaysLong: own, heldPnl: 0.5 };
    expect(dayTradeOf({ ...ended, coin: "SELL", momentum: null })).toEqual({ ...alike, coin: other });
    expect(dayTradeOf({ ...ended, coin: "BUY", momentum: "SELL" })).toEqual({
      ...{ ...alike, coin: own, momentum: other },
    });
    expect(dayTradeOf({ ...ended, signal: "HOLD", coin: "BUY", momentum: null })).toBeNull();
  });
});

test.each(SETTINGS.filter((_setting, index) => index % 6 === 1))(
  "histories without an edge claim none, before or after costs: %s",
  (_name, setting) => {
    const { better, betterAfterCosts, worse } = claims(setting, { histories: 20, seed: 7 });
    expect(Math.max(better, betterAfterCosts, worse)).toBeLessThanOrEqual(1);
  },
);
