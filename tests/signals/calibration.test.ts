import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  addOutcome,
  calibrated,
  noOutcomes,
  type Outcomes,
} from "../../convex/signals/statistics/calibration";
import {
  brierAfter150,
  calibratedInTurn,
  overconfident,
  type Forecast,
} from "../../scripts/bench/signalForecasts";

const forecast = fc.record({ confidence: fc.integer({ min: 0, max: 100 }), isWin: fc.boolean() });
const chance = fc.double({ min: 0.05, max: 5 / 9, noNaN: true });
const learned = (forecasts: readonly Forecast[]): Outcomes =>
  forecasts.reduce((all, { confidence, isWin }) => addOutcome(all, confidence, isWin), noOutcomes());

const told = (forecasts: readonly Forecast[], confidence: number) =>
  calibrated(learned(forecasts), confidence, 0.5);

describe("a calibrated confidence", () => {
  test("without outcomes is the chance of the signal's geometry, and moves towards the share that won", () => {
    expect(calibrated(noOutcomes(), 90, 0.4)).toEqual({ confidence: 40, method: "shrinkage", n: 0 });
    const nine = Array.from({ length: 10 }, (_, n) => ({ confidence: 80, isWin: n < 9 }));
    // (9 + 30 x 0.4) / (10 + 30)
    expect(calibrated(learned(nine), 60, 0.4)).toEqual({ confidence: 52.5, method: "shrinkage", n: 10 });
  });

  test("changes its method at 30 and at 500 outcomes", () => {
    const many = overconfident({ n: 500, spread: 20, seed: 3 });
    const methods = [0, 29, 30, 499, 500].map((n) => told(many.slice(0, n), 75).method);
    expect(methods).toEqual(["shrinkage", "shrinkage", "platt", "platt", "isotonic"]);
  });

  test("by Platt's scaling is where the likelihood is greatest, as a search over a grid finds it", () => {
    fc.assert(
      fc.property(
        fc.array(forecast, { minLength: 30, maxLength: 200 }),
        fc.integer({ min: 0, max: 100 }),
        (all, asked) => {
          const { confidence } = told(all, asked);
          expect(Math.abs(confidence - 100 * searched(all, asked))).toBeLessThanOrEqual(0.06);
        },
      ),
      { numRuns: 40 },
    );
  });

  test("by isotonic regression is the rising curve nearest to the outcomes, and rises with what is stated", () => {
    fc.assert(
      fc.property(fc.array(forecast, { minLength: 500, maxLength: 900 }), (all) => {
        const outcomes = learned(all);
        const curve = Array.from(
          { length: 101 },
          (_, percent) => calibrated(outcomes, percent, 0.5).confidence,
        );
        expect(curve.every((value, at) => at === 0 || value >= (curve[at - 1] ?? NaN) - 0.1)).toBe(true);
        for (const value of curve) expect(value > 0 && value < 100).toBe(true);
      }),
      { numRuns: 40 },
    );
    const stepped = Array.from({ length: 1_000 }, (_, n) => ({
      confidence: n % 2 === 0 ? 60 : 80,
      isWin: n % 20 < (n % 2 === 0 ? 8 : 15),
    }));
    const outcomes = learned(stepped);
    const [low, high] = [outcomes.won[60] ?? NaN, outcomes.won[80] ?? NaN].map(
      (won) => (100 * (won + 1)) / 502,
    );
    expect(calibrated(outcomes, 60, 0.5).confidence).toBeCloseTo(low ?? NaN, 0);
    expect(calibrated(outcomes, 70, 0.5).confidence).toBeCloseTo(((low ?? NaN) + (high ?? NaN)) / 2, 0);
    expect(calibrated(outcomes, 95, 0.5).confidence).toBeCloseTo(high ?? NaN, 0);
  });

  test("is a share of 100, whatever was stated and however it went", () => {
    fc.assert(
      fc.property(
        fc.array(forecast, { maxLength: 700 }),
        fc.integer({ min: 0, max: 100 }),
        chance,
        (all, asked, c) => {
          const { confidence, n } = calibrated(learned(all), asked, c);
          expect([confidence >= 0 && confidence <= 100, n]).toEqual([true, all.length]);
        },
      ),
    );
  });

  test("of the past is what it was, whatever comes later", () => {
    fc.assert(
      fc.property(
        fc.array(forecast, { minLength: 1, maxLength: 60 }),
        fc.array(forecast, { maxLength: 60 }),
        fc.array(forecast, { maxLength: 60 }),
        (past, one, other) => {
          const of = (future: Forecast[]) => calibratedInTurn([...past, ...future]).slice(0, past.length);
          expect(of(one)).toEqual(of(other));
        },
      ),
    );
  });
});

test("a forecaster that says 75 % and hits 55 % is 15 % better after 150 outcomes (500 of them: npm run test:long -- calibration)", () => {
  const runs = [1, 2, 3, 4, 5, 6, 7, 8].map((seed) =>
    brierAfter150(overconfident({ n: 730, spread: 20, seed })),
  );
  const sum = (of: (one: (typeof runs)[number]) => number) => runs.reduce((total, one) => total + of(one), 0);
  expect(1 - sum((one) => one.calibrated) / sum((one) => one.stated)).toBeGreaterThanOrEqual(0.15);
});

/** The same curve by narrowing a grid around the best of its points. */
function searched(all: readonly Forecast[], asked: number): number {
  const x = (percent: number) => {
    const p = Math.min(0.995, Math.max(0.005, percent / 100));
    return Math.log(p / (1 - p));
  };
  const wins = all.filter(({ isWin }) => isWin).length;
  const [high, low] = [(wins + 1) / (wins + 2), 1 / (all.length - wins + 2)];
  const cost = (a: number, b: number) =>
    all.reduce(
      (sum, { confidence, isWin }) => {
        const z = a * x(confidence) + b;
        const target = isWin ? high : low;
        return sum + Math.log1p(Math.exp(-Math.abs(z))) + Math.max(z, 0) - target * z;
      },
      (0.5 * a * a) / 2,
    );
  let [a, b, width] = [0, 0, 4];
  for (; width > 1e-4; width /= 1.6) {
    let best = Infinity;
    const [fromA, fromB] = [a, b];
    for (let i = -3; i <= 3; i++) {
      for (let j = -3; j <= 3; j++) {
        const [ta, tb] = [fromA + (width * i) / 3, fromB + (width * j) / 3];
        const now = cost(ta, tb);
        if (now < best) [best, a, b] = [now, ta, tb];
      }
    }
  }
  return 1 / (1 + Math.exp(-(a * x(asked) + b)));
}
