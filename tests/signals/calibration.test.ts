import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  addOutcome,
  calibrated,
  noOutcomes,
  type Outcomes,
} from "../../convex/signals/statistics/calibration";
import { brierAfter150, calibratedInTurn, overconfident, type Forecast } from "./histories/signalForecasts";
import { bitsFrom } from "./histories/signalHistories";

const forecast = fc.record({ confidence: fc.integer({ min: 0, max: 100 }), isWin: fc.boolean() });
const chance = fc.double({ min: 0.05, max: 5 / 9, noNaN: true });
const learned = (forecasts: readonly Forecast[]): Outcomes =>
  forecasts.reduce(
    (all, { confidence, isWin }) => addOutcome(all, { confidence, chance: 0.5, isWin }),
    noOutcomes(),
  );

const told = (forecasts: readonly Forecast[], confidence: number) =>
  calibrated(learned(forecasts), confidence, 0.5);

describe("a calibrated confidence", () => {
  test("without outcomes is the chance of the signal's geometry, and moves towards the share that won", () => {
    expect(calibrated(noOutcomes(), 90, 0.4)).toEqual({ confidence: 40, method: "shrinkage", n: 0 });
    const nine = Array.from({ length: 10 }, (_, n) => ({ confidence: 80, isWin: n < 9 }));
    // (9 + 30 x 0.4) / (10 + 30)
    expect(calibrated(learned(nine), 60, 0.4)).toEqual({ confidence: 52.5, method: "shrinkage", n: 10 });
  });

  test("begins to learn from what was stated at 30 outcomes", () => {
    const many = overconfident({ n: 500, spread: 20, seed: 3 });
    const methods = [0, 29, 30, 500].map((n) => told(many.slice(0, n), 75).method);
    expect(methods).toEqual(["shrinkage", "shrinkage", "offset", "offset"]);
  });

  test("is where the likelihood is greatest, as a search over a grid finds it", () => {
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

  test("of a model that knows nothing is the chance of its levels, near targets or far", () => {
    const bits = bitsFrom(7);
    const share = () => bits() / 2 ** 32;
    let outcomes = noOutcomes();
    let [ours, levels, n] = [0, 0, 0];
    for (let trade = 0; trade < 1_500; trade++) {
      const chance_ = trade % 2 === 0 ? 0.52 : 0.28;
      const confidence = 55 + 5 * Math.floor(share() * 9);
      const isWin = share() < chance_;
      const { confidence: calibratedTo } = calibrated(outcomes, confidence, chance_);
      if (trade >= 30) {
        ours += (calibratedTo / 100 - Number(isWin)) ** 2;
        levels += (chance_ - Number(isWin)) ** 2;
        n += 1;
      }
      outcomes = addOutcome(outcomes, { confidence, chance: chance_, isWin });
    }
    expect((ours - levels) / n).toBeLessThan(0.002);
    expect(Math.abs(calibrated(outcomes, 75, 0.28).confidence - 28)).toBeLessThan(5);
    expect(Math.abs(calibrated(outcomes, 75, 0.52).confidence - 52)).toBeLessThan(5);
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
  // Even chances: the offset is 0.
  const cost = (a: number, b: number) =>
    all.reduce(
      (sum, { confidence, isWin }) => {
        const z = a * x(confidence) + b;
        return sum + Math.log1p(Math.exp(-Math.abs(z))) + Math.max(z, 0) - (isWin ? z : 0);
      },
      (7.5 * (a * a + b * b)) / 2,
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
