import { v, type Infer } from "convex/values";
import type { Calibrated } from "./rows";
import { RECORD_FROM } from "../trade/rules";

/**
 * What a stated confidence has been worth. Pure.
 *
 * Learned from outcomes that were closed before the signal is issued, of the same model with the same prompt, and from nothing
 * later; the result is stored with the signal and never made anew, so every calibrated confidence is out of sample.
 *
 * It begins with the chance of the signal's own geometry, which is what a price without direction has.
 * - Below 30 decided trades: the share that won, shrunk towards that chance with the weight of 30 trades. What the model says
 *   counts for nothing until there is something to hold it against, and nobody is shown it: there is no record yet.
 * - From 30 on: a logistic curve whose offset is the chance's log-odds, and whose slope is in what the model's stated log-odds add
 *   to them (after J. Platt, "Probabilistic outputs for support vector machines", 1999). Both coefficients are held back with
 *   the weight of 30 trades: a model that knows nothing is left with the geometry.
 */

/**
 * By whole percent, 0 to 100: decided trades of that confidence, and how many of them won; and `decided`, by confidence and chance
 * in whole percents, how many there were and how many won.
 */
const vOutcomes = v.object({
  stated: v.array(v.number()),
  won: v.array(v.number()),
  decided: v.array(v.array(v.number())),
});
export type Outcomes = Infer<typeof vOutcomes>;

export const PERCENTS = 101;

export function noOutcomes(): Outcomes {
  return {
    stated: Array.from({ length: PERCENTS }, () => 0),
    won: Array.from({ length: PERCENTS }, () => 0),
    decided: [],
  };
}

/**
 * @param one.confidence Whole percent.
 * @param one.chance Of the signal's own geometry, 0 to 1.
 */
export function addOutcome(
  { stated, won, decided }: Outcomes,
  { confidence, chance, isWin }: { confidence: number; chance: number; isWin: boolean },
): Outcomes {
  const more = (counts: number[], by: number) => counts.map((n, at) => (at === confidence ? n + by : n));
  const win = isWin ? 1 : 0;
  const percent = Math.round(100 * chance);
  const isSame = ([of, at]: number[]) => of === confidence && at === percent;
  const [, , n = 0, before = 0] = decided.find(isSame) ?? [];
  const others = decided.filter((one) => !isSame(one));
  return {
    stated: more(stated, 1),
    won: more(won, win),
    decided: [...others, [confidence, percent, n + 1, before + win]],
  };
}

/** A model's own record for its prompt: its decided trades so far. */
export const vTrackRecord = v.object({
  n: v.number(),
  wins: v.number(),
  meanConfidence: v.union(v.number(), v.null()),
});

export function recordOfToken({ stated, won }: Pick<Outcomes, "stated" | "won">): Infer<typeof vTrackRecord> {
  const n = total(stated);
  const sum = stated.reduce((before, count, percent) => before + count * percent, 0);
  return { n, wins: total(won), meanConfidence: n === 0 ? null : Number((sum / n).toFixed(1)) };
}

/**
 * @param confidence As stated, whole percent.
 * @param chance Of the signal's own geometry, 0 to 1.
 */
export function calibrated({ decided }: Outcomes, confidence: number, chance: number): Calibrated {
  const n = decided.reduce((sum, [, , count = 0]) => sum + count, 0);
  const wins = decided.reduce((sum, [, , , count = 0]) => sum + count, 0);
  if (n < RECORD_FROM) {
    const p = (wins + RECORD_FROM * chance) / (n + RECORD_FROM);
    return { confidence: Number((100 * p).toFixed(1)), method: "shrinkage", n };
  }
  const { a, b } = curveOf(decided);
  const offset = logOdds(100 * chance);
  const p = logistic(offset + a * (logOdds(confidence) - offset) + b);
  return { confidence: Number((100 * p).toFixed(1)), method: "offset", n };
}

/** The weight of 30 trades that are won as often as lost. */
const HELD_BACK = RECORD_FROM / 4;
const NEWTON_STEPS = 50;

/** The most likely a and b of logistic(offset + a x + b), by Newton's method; x is what the stated log-odds add to the offset. */
function curveOf(decided: readonly number[][]): { a: number; b: number } {
  let [a, b] = [0, 0];
  for (let step = 0; step < NEWTON_STEPS; step++) {
    let [ga, gb, haa, hab, hbb] = [-HELD_BACK * a, -HELD_BACK * b, HELD_BACK, 0, HELD_BACK];
    for (const [confidence = 0, chance = 0, n = 0, won = 0] of decided) {
      const offset = logOdds(chance);
      const x = logOdds(confidence) - offset;
      const p = logistic(offset + a * x + b);
      const weight = n * p * (1 - p);
      ga += (won - n * p) * x;
      gb += won - n * p;
      haa += weight * x * x;
      hab += weight * x;
      hbb += weight;
    }
    const determinant = haa * hbb - hab * hab;
    const [da, db] = [(hbb * ga - hab * gb) / determinant, (haa * gb - hab * ga) / determinant];
    a += da;
    b += db;
    if (Math.abs(da) + Math.abs(db) < 1e-13) break;
  }
  return { a, b };
}

/** The log-odds of a percentage; 0 and 100 count as half a percent inside. */
function logOdds(percent: number): number {
  const p = Math.min(99.5, Math.max(0.5, percent)) / 100;
  return Math.log(p / (1 - p));
}

function logistic(x: number): number {
  return 1 / (1 + Math.exp(-x));
}

function total(counts: readonly number[]): number {
  return counts.reduce((sum, n) => sum + n, 0);
}
