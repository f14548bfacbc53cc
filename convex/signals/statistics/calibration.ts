import { v, type Infer } from "convex/values";

/**
 * What a stated confidence has been worth. Pure.
 *
 * Learned from outcomes that were closed before the signal is issued and from nothing later; the result is stored with
 * the signal and never made anew, so every calibrated confidence is out of sample. Confidences are whole percents, so
 * how many were stated and how many of them won, by percent, is all there is to learn from.
 *
 * - Below 30 decided trades: the share that won, shrunk towards the chance of the signal's own geometry with the weight of
 *   30 trades. What the model says counts for nothing until there is something to hold it against.
 * - Below 500: Platt's scaling, a logistic curve of the stated log-odds (J. Platt, "Probabilistic outputs for support
 *   vector machines", 1999), its slope held back a little.
 * - From 500 on: isotonic regression by pooling adjacent violators (B. Zadrozny and C. Elkan, KDD 2002), on a line
 *   between the middles of the pools.
 */

/** By whole percent, 0 to 100: decided trades of that confidence, and how many of them won. */
const vOutcomes = v.object({ stated: v.array(v.number()), won: v.array(v.number()) });
export type Outcomes = Infer<typeof vOutcomes>;

export const PERCENTS = 101;

export function noOutcomes(): Outcomes {
  return {
    stated: Array.from({ length: PERCENTS }, () => 0),
    won: Array.from({ length: PERCENTS }, () => 0),
  };
}

/** @param confidence Whole percent. */
export function addOutcome({ stated, won }: Outcomes, confidence: number, isWin: boolean): Outcomes {
  const more = (counts: number[], by: number) => counts.map((n, at) => (at === confidence ? n + by : n));
  return { stated: more(stated, 1), won: more(won, isWin ? 1 : 0) };
}

/** The record on which a prompt tells a model how it has done: its decided trades so far. */
export const vTold = v.object({
  n: v.number(),
  wins: v.number(),
  meanConfidence: v.union(v.number(), v.null()),
});

export function recordOfToken({ stated, won }: Outcomes): Infer<typeof vTold> {
  const n = total(stated);
  const sum = stated.reduce((before, count, percent) => before + count * percent, 0);
  return { n, wins: total(won), meanConfidence: n === 0 ? null : Number((sum / n).toFixed(1)) };
}

const SHRUNK_BELOW = 30;
const ISOTONIC_FROM = 500;

export const vCalibrated = v.object({
  /** Percent to one decimal, 0 to 100. */
  confidence: v.number(),
  method: v.union(v.literal("shrinkage"), v.literal("platt"), v.literal("isotonic")),
  /** Outcomes it was learned from. */
  n: v.number(),
});
export type Calibrated = Infer<typeof vCalibrated>;

/**
 * @param confidence As stated, whole percent.
 * @param chance Of the signal's own geometry, 0 to 1.
 */
export function calibrated(outcomes: Outcomes, confidence: number, chance: number): Calibrated {
  const n = total(outcomes.stated);
  const method = n < SHRUNK_BELOW ? "shrinkage" : n < ISOTONIC_FROM ? "platt" : "isotonic";
  const p = { shrinkage: shrunk, platt, isotonic }[method](outcomes, confidence, chance);
  return { confidence: Number((100 * p).toFixed(1)), method, n };
}

function shrunk(outcomes: Outcomes, _confidence: number, chance: number): number {
  return (total(outcomes.won) + SHRUNK_BELOW * chance) / (total(outcomes.stated) + SHRUNK_BELOW);
}

/** Holds the slope back: as if its square cost this much of the likelihood. A flat curve is the claim that asks least. */
const SLOPE_PENALTY = 0.5;
const NEWTON_STEPS = 50;

function platt(outcomes: Outcomes, confidence: number): number {
  const { a, b } = plattCurve(outcomes);
  return logistic(a * centred(confidence) + b);
}

/** The most likely a and b of logistic(a x + b), by Newton's method; x is the log-odds of a percent. */
function plattCurve({ stated, won }: Outcomes): { a: number; b: number } {
  // Platt's own targets: a class of a few is not taken for certain.
  const wins = total(won);
  const losses = total(stated) - wins;
  const [high, low] = [(wins + 1) / (wins + 2), 1 / (losses + 2)];
  let [a, b] = [0, 0];
  for (let step = 0; step < NEWTON_STEPS; step++) {
    let [ga, gb, haa, hab, hbb] = [-SLOPE_PENALTY * a, 0, SLOPE_PENALTY, 0, 1e-9];
    for (const [percent, n = 0] of stated.entries()) {
      if (n === 0) continue;
      const k = won[percent] ?? 0;
      const x = centred(percent);
      const p = logistic(a * x + b);
      const gradient = k * high + (n - k) * low - n * p;
      const weight = n * p * (1 - p);
      ga += gradient * x;
      gb += gradient;
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

function isotonic(outcomes: Outcomes, confidence: number): number {
  const pools = pooled(outcomes);
  const above = pools.findIndex(({ middle }) => middle >= confidence);
  const [upper, lower] = [pools[above], pools[above - 1]];
  if (upper === undefined) return pools.at(-1)?.rate ?? 0;
  if (lower === undefined || upper.middle === confidence) return upper.rate;
  const share = (confidence - lower.middle) / (upper.middle - lower.middle);
  return lower.rate + share * (upper.rate - lower.rate);
}

type Pool = { n: number; won: number; sum: number };

/** Neighbouring percents whose shares won fall instead of rising are taken together. */
function pooled({ stated, won }: Outcomes): { middle: number; rate: number }[] {
  const pools: Pool[] = [];
  for (const [percent, n = 0] of stated.entries()) {
    if (n === 0) continue;
    let pool: Pool = { n, won: won[percent] ?? 0, sum: n * percent };
    for (let last = pools.at(-1); last !== undefined && rateOf(last) >= rateOf(pool); last = pools.at(-1)) {
      pools.pop();
      pool = { n: last.n + pool.n, won: last.won + pool.won, sum: last.sum + pool.sum };
    }
    pools.push(pool);
  }
  return pools.map((pool) => ({ middle: pool.sum / pool.n, rate: rateOf(pool) }));
}

/** Laplace's: nothing is certain, however often it has held. */
function rateOf({ n, won }: Pool): number {
  return (won + 1) / (n + 2);
}

/** The log-odds of a percent; 0 and 100 count as half a percent inside. */
function centred(percent: number): number {
  const p = Math.min(99.5, Math.max(0.5, percent)) / 100;
  return Math.log(p / (1 - p));
}

function logistic(x: number): number {
  return 1 / (1 + Math.exp(-x));
}

function total(counts: readonly number[]): number {
  return counts.reduce((sum, n) => sum + n, 0);
}
