/**
 * What days of results say about an edge, however often one looks. Pure.
 *
 * Each day is one observation x, the mean of its trades' excess over chance (`signals/trade/rules`), in [-5/9, 1]: BTC and ETH
 * move together, so two trades of a day are not two observations. Without an edge every x has a mean of at most 0 given
 * all that came before. A gambler who stakes the share λ of what they own on each day then owns the product of
 * 1 + λ x, a supermartingale, and by Ville's inequality ever owns twenty times the start with a probability of at most
 * 1 / 20. That wealth, averaged over a few λ, is the e-value: it may be looked at daily, or at any moment, and at 20 the
 * record reads "better than chance". All means m for which a gambler against m owns less than 20 form the confidence
 * sequence. (Betting: I. Waudby-Smith and A. Ramdas, "Estimating means of bounded random variables by betting", Journal
 * of the Royal Statistical Society B 86, 2024, first online 2023.)
 *
 * The wealth is not kept for every m. It is bounded from below by what five sums give: for u > -1,
 * log(1 + u) = u - u²/2 + u³/3 - u⁴ h(u) with h(u) = ∫₀¹ s³ / (1 + u s) ds, which falls in u, so that h at the least
 * possible u serves them all. (The same with two terms is lemma 4.1 of X. Fan, I. Grama and Q. Liu, "Exponential
 * inequalities for martingales with applications", Electronic Journal of Probability 20, 2015.) A smaller wealth claims
 * less. λ does not depend on the results, so neither does the order in which days are added matter.
 *
 * Within 730 signals of 365 days, looked at daily, an edge of 3 points is found in 29 of 100 records, one of 5 points in 74,
 * one of 10 points in all, if the sides of the two tokens are independent; without an edge one in 79 ever reads "better than
 * chance" (`npm run test:long -- edge`). With both tokens on one side: `npm run bench -- edges`.
 */

/** Observations so far, and the sums of their first four powers. */
export type Blocks = { days: number; sum: number; squares: number; cubes: number; fourths: number };

export const NO_BLOCKS: Blocks = { days: 0, sum: 0, squares: 0, cubes: 0, fourths: 0 };

/** A day's excess is never below: reward to risk is at least 0.8, so the chance at most 1 / 1.8. A hair for rounding. */
export const LEAST_EXCESS = -(5 / 9) - 1e-6;
/** After costs it is never below this, because the target lies beyond the costs. */
export const LEAST_NET = -1 - 1e-6;
const GREATEST_EXCESS = 1;

/** The days with their unknown parts counted as little and as much as possible: for a claim, and against it. */
export type Seen = { least: Blocks; most: Blocks };

/**
 * The shares staked, each with the same part of the start: large ones find a large edge early, small ones a small one late.
 * Nobody ever loses more than the share `boldest` in a day, so against a mean that may be missed by far the large stakes are
 * smaller.
 */
type Terms = { stakes: readonly number[]; boldest: number };
const TERMS: Terms = { stakes: [0.1, 0.2, 0.3, 0.4, 0.8, 1.2], boldest: 0.7 };
/** Differences are scaled to lie where an excess does, so that what is staked on them is more: as much as the bound allows. */
export const DIFFERENCE_TERMS: Terms = { stakes: [0.17, 0.42, 0.7, 1.1, 1.6], boldest: 0.9 };

/** The wealth at which chance is ruled out: each bound errs, at any time ever, with a probability of 1 / 20. */
export const DECISIVE = 20;

/** @throws RangeError for a result that a day cannot have. */
export function addDay(blocks: Blocks, excess: number, floor = LEAST_EXCESS): Blocks {
  if (!(excess >= floor && excess <= GREATEST_EXCESS)) {
    throw new RangeError(`A day's excess over chance must lie between ${floor} and ${GREATEST_EXCESS}`);
  }
  const { days, sum, squares, cubes, fourths } = blocks;
  return {
    days: days + 1,
    sum: sum + excess,
    squares: squares + excess ** 2,
    cubes: cubes + excess ** 3,
    fourths: fourths + excess ** 4,
  };
}

/** The wealth of a gambler who has staked on days above 0, from a start of 1. */
export function eValueOf(blocks: Blocks, floor = LEAST_EXCESS, terms = TERMS): number {
  return Math.exp(logWealth(blocks, 0, { sign: 1, worst: -floor, terms }));
}

/** The same of a gambler who has staked on days below 0. */
export function eValueBelow(blocks: Blocks): number {
  return Math.exp(logWealth(blocks, 0, { sign: -1, worst: GREATEST_EXCESS, terms: TERMS }));
}

/**
 * The means that the days do not rule out. Each bound holds at all times together with a probability of 95 %, both with
 * 90 %. `low` is above 0 exactly when the e-value is above 20.
 */
export function boundsOf({ least, most }: Seen, terms = TERMS): { low: number; high: number } {
  const limit = Math.log(DECISIVE);
  const below = (m: number) => logWealth(least, m, { sign: 1, worst: m - LEAST_EXCESS, terms }) >= limit;
  const above = (m: number) => logWealth(most, m, { sign: -1, worst: GREATEST_EXCESS - m, terms }) >= limit;
  return {
    low: below(LEAST_EXCESS) ? edgeOf(below, LEAST_EXCESS, meanOf(least)) : LEAST_EXCESS,
    high: above(GREATEST_EXCESS) ? edgeOf(above, GREATEST_EXCESS, meanOf(most)) : GREATEST_EXCESS,
  };
}

function meanOf({ days, sum }: Blocks): number {
  return days === 0 ? 0 : sum / days;
}

/** The boundary between a mean that is ruled out and one that is not. */
function edgeOf(isRuledOut: (m: number) => boolean, outside: number, inside: number): number {
  let [out, within] = [outside, inside];
  // Halving a range of 2 to the last bit of a double.
  for (let step = 0; step < 60; step++) {
    const middle = (out + within) / 2;
    if (isRuledOut(middle)) out = middle;
    else within = middle;
  }
  return within;
}

/**
 * The logarithm of the wealth that was staked on days above the mean `m`, or (-1) below it.
 * @param bet.worst How far on the wrong side of `m` a day can be.
 */
function logWealth(
  blocks: Blocks,
  m: number,
  { sign, worst, terms: { stakes, boldest } }: { sign: 1 | -1; worst: number; terms: Terms },
): number {
  const { days: n, sum: a, squares: b, cubes: c, fourths: d } = blocks;
  // The powers of x - m, summed.
  const first = sign * (a - n * m);
  const second = b - 2 * m * a + n * m * m;
  const third = sign * (c - 3 * m * b + 3 * m * m * a - n * m * m * m);
  const fourth = d - 4 * m * c + 6 * m * m * b - 4 * m * m * m * a + n * m * m * m * m;
  let wealth = 0;
  for (const most of stakes) {
    const stake = Math.min(most, boldest / worst);
    const [u, square] = [stake * first, stake * stake];
    const bent = (square * second) / 2 - (square * stake * third) / 3;
    wealth += Math.exp(u - bent - square * square * fourth * remainder(stake * worst));
  }
  return Math.log(wealth / stakes.length);
}

/** ∫₀¹ s³ / (1 - u s) ds for 0 <= u < 1: what the fourth power's factor is at most where nothing is below -u. */
function remainder(u: number): number {
  // For a small u the closed form loses its digits: the first terms of 1/4 + u/5 + u²/6 + … do.
  if (u < 0.05) {
    let sum = 0;
    for (let k = 12; k >= 4; k--) sum = sum * u + 1 / k;
    return sum;
  }
  return (-Math.log1p(-u) - u - (u * u) / 2 - (u * u * u) / 3) / (u * u * u * u);
}
