import { addOutcome, calibrated, noOutcomes } from "../../../convex/signals/statistics/calibration";
import type { Calibrated } from "../../../convex/signals/statistics/rows";
import { bitsFrom } from "./signalHistories";

/** Forecasters who are overconfident. */

export type Forecast = { confidence: number; isWin: boolean };

/** Says 75 % on average, in fives from `75 - spread` to `75 + spread`, and hits 55 % whatever it says. */
export function overconfident({ n, spread, seed }: { n: number; spread: number; seed: number }): Forecast[] {
  const bits = bitsFrom(seed);
  const steps = (2 * spread) / 5 + 1;
  // The low bits of neighbouring words are correlated.
  const share = () => bits() / 2 ** 32;
  return Array.from({ length: n }, () => ({
    confidence: 75 - spread + 5 * Math.floor(share() * steps),
    isWin: share() < 0.55,
  }));
}

/** Each forecast, calibrated only from those before it. */
export function calibratedInTurn(forecasts: readonly Forecast[], chance = 0.5): Calibrated[] {
  let outcomes = noOutcomes();
  return forecasts.map(({ confidence, isWin }) => {
    const forecast = calibrated(outcomes, confidence, chance);
    outcomes = addOutcome(outcomes, { confidence, chance, isWin });
    return forecast;
  });
}

/** The mean squared error of the stated and of the calibrated percentages, from the 151st on. */
export function brierAfter150(forecasts: readonly Forecast[]): { stated: number; calibrated: number } {
  const results = calibratedInTurn(forecasts);
  const error = (percent: number, { isWin }: Forecast) => (percent / 100 - (isWin ? 1 : 0)) ** 2;
  const mean = (of: (forecast: Forecast, at: number) => number) =>
    forecasts.slice(150).reduce((sum, one, at) => sum + of(one, at + 150), 0) / (forecasts.length - 150);
  return {
    stated: mean((one) => error(one.confidence, one)),
    calibrated: mean((one, at) => error(results[at]?.confidence ?? NaN, one)),
  };
}
