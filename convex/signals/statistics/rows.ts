import { v, type Infer, type ObjectType } from "convex/values";

/** The statistics in rows; `days`, `totals` and `calibration` compute them. */

const vBlocks = v.object({
  days: v.number(),
  sum: v.number(),
  squares: v.number(),
  cubes: v.number(),
  fourths: v.number(),
});

/** Sums of results in percentage points: of trades that ended at a price, before costs, and what these trades cost. */
const results = { trades: v.number(), pnlSum: v.number(), costSum: v.number() };

/** The results of days before costs, as `Seen`. */
export const vSeen = v.object({ least: vBlocks, most: vBlocks });
/** The results of two arms against each other, as a row stores them; rows of earlier versions have `blocks`. */
export const pairFields = { days: v.optional(vSeen), blocks: v.optional(vBlocks) };

/** `net`: the least possible result after costs. */
const vDays = vSeen.extend({ net: vBlocks });
export type Days = Infer<typeof vDays>;
export const vArm = v.object({ ...results, days: vDays });

const vArms = v.object({
  model: vArm,
  coin: vArm,
  momentum: vArm,
  alwaysLong: vArm,
  buyAndHold: v.object(results),
  /** The results of the model's days against theirs. Absent on rows of earlier versions. */
  paired: v.optional(v.object({ coin: vSeen, alwaysLong: vSeen })),
});
export type Arms = Infer<typeof vArms>;

/** Arms in a row of a version without `most` and `net`. */
export const vEarlierArm = v.object({ ...results, blocks: vBlocks });
const vEarlierArms = v.object({
  ...{ model: vEarlierArm, coin: vEarlierArm, momentum: vEarlierArm, alwaysLong: vEarlierArm },
  buyAndHold: v.object(results),
});
export const vKeptArms = v.union(vArms, vEarlierArms);

/** The results of trades one after another, before or after costs. Percentage points. */
const curveFields = {
  sum: v.number(),
  best: v.union(v.number(), v.null()),
  worst: v.union(v.number(), v.null()),
  /** Mean and sum of squared deviations from it, kept as Welford does, so that near-equal results lose no digits. */
  mean: v.number(),
  squaredDeviations: v.number(),
  /** Sum of the squares of the losing results. */
  squaredDownsides: v.number(),
  /** Sums of the results above and below zero; the losses' is positive. */
  grossProfit: v.number(),
  grossLoss: v.number(),
  /** The highest that the sum has been, and since when; it starts at 0, before the first trade. */
  peak: v.number(),
  peakAt: v.union(v.number(), v.null()),
  /** The deepest fall from a peak so far. */
  drawdown: v.union(
    v.object({ percent: v.number(), peakAt: v.union(v.number(), v.null()), troughAt: v.number() }),
    v.null(),
  ),
};

const vCurve = v.object(curveFields);
export type Curve = ObjectType<typeof curveFields>;

const vDecided = v.union(v.literal("WIN"), v.literal("LOSS"));

/** The totals as a row's fields. Sums are of percentages, in percentage points. */
export const totalsFields = {
  wins: v.number(),
  losses: v.number(),
  /** EXPIRED ones, HOLD included. */
  expired: v.number(),
  holds: v.number(),
  /** Days without a signal; for the lab's arms, hours. */
  refused: v.number(),
  /** Sum of the trades' score minus chance. */
  excess: v.number(),
  /** Trades whose path has gaps that keep them from counting for an edge, and the minutes of all gaps. */
  gapped: v.number(),
  gapMinutes: v.number(),

  /** Trades with a result: both curves are of these. */
  priced: v.number(),
  before: vCurve,
  after: vCurve,
  /** Sums of the results of WINs and of LOSSes before costs. */
  winSum: v.number(),
  lossSum: v.number(),

  streak: v.union(v.object({ outcome: vDecided, length: v.number() }), v.null()),
  longestWins: v.number(),
  longestLosses: v.number(),

  /** Decided trades, and those won, by whole percent of stated confidence: 0 to 100. */
  stated: v.array(v.number()),
  won: v.array(v.number()),
  /** Decided trades by stated confidence and chance: see `signals/statistics/calibration`. */
  decided: v.array(v.array(v.number())),
  /**
   * Sums over so many decided trades of the squared errors of the stated confidence, of the calibrated one, and of the
   * chance.
   */
  skill: v.object({ n: v.number(), stated: v.number(), calibrated: v.number(), chance: v.number() }),
  /** The same with the logarithms of the probability that was given to the outcome. */
  logs: v.object({ n: v.number(), stated: v.number(), calibrated: v.number(), chance: v.number() }),
  /** The number of trades, and how long they were open in total, ms. */
  held: v.object({ n: v.number(), ms: v.number() }),
  /** Sum over decided trades of (calibrated confidence / 100 - outcome)², an outcome being 1 for WIN and 0 for LOSS. */
  calibratedSquares: v.number(),

  /** Closed signals, HOLD included, whose issue had been anchored before their outcome. */
  anchored: v.number(),

  /** Trades and their controls on days that are over; for the lab's arms only the days. */
  arms: vArms,
};

export type Totals = ObjectType<typeof totalsFields>;

export const vCalibrated = v.object({
  /** Percent to one decimal, 0 to 100. */
  confidence: v.number(),
  /** `platt` and `isotonic`: of earlier versions. */
  method: v.union(v.literal("shrinkage"), v.literal("offset"), v.literal("platt"), v.literal("isotonic")),
  /** The number of outcomes behind it. */
  n: v.number(),
});
export type Calibrated = Infer<typeof vCalibrated>;
