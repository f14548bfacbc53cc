import * as z from "zod";

/**
 * The statistics of closed signals as `/mcp/signals/history` shows them. Percentages are numbers: 1.5 is 1.5 %. Figures
 * are rounded to ten decimals.
 */

const count = z.int().nonnegative();
const percent = z.number();
const figure = z.number().nullable();
const share = z.number().min(0).max(100);
/** A hundredth of the way from stop to target. */
const points = z.number();

const bounds = {
  excessPoints: points.nullable().describe("Mean over days; null before the first."),
  lowPoints: points.describe("Bound of the confidence sequence: holds with 95 % at all times together."),
  highPoints: points.describe("The other bound, of the same kind; both hold with 90 %."),
};

export const edge = z.object({
  trades: count.describe("BUY and SELL signals on days that are over."),
  days: count.describe("Days with a trade: BTC and ETH move together, so a day is one observation."),
  ...bounds,
  eValue: z
    .number()
    .nonnegative()
    .describe(
      "The wealth of a bet on an edge that began with 1: without an edge, the probability that it ever reaches 20 is at most 5 %.",
    ),
  afterCosts: z
    .object({
      excessPoints: points
        .nullable()
        .describe("Mean over days, minus what each trade needs to earn its costs."),
      eValue: z.number().nonnegative().describe("The same bet on the excess after costs."),
    })
    .describe("A trade's break-even is its costs as a share of the way from stop to target."),
  verdict: z
    .enum([
      "no record yet",
      "better than chance",
      "better before costs",
      "worse than chance",
      "not told from chance",
    ])
    .describe(
      "There is no record yet below 30 results. better than chance: both e-values are at least 20; better before costs: only the first one is.",
    ),
});
export type Edge = z.output<typeof edge>;

const averages = {
  trades: count,
  averageBeforeCostsPercent: percent.nullable(),
  averageAfterCostsPercent: percent.nullable(),
};
const arm = z.object({ ...averages, days: count, ...bounds });

const controls = z
  .object({
    model: arm,
    coin: arm.describe("The side of a coin flip, from the hash of the event before the signal's event."),
    momentum: arm.describe("The side of the last 24 hours."),
    alwaysLong: arm,
    buyAndHold: z.object(averages).describe("Bought at the issue, sold at the expiry, no levels."),
  })
  .describe("The same trades with other sides: same time, entry, distances of the levels, and costs.");

const pair = edge.omit({ trades: true, afterCosts: true, verdict: true });
const paired = z
  .object({ coin: pair, alwaysLong: pair })
  .describe(
    "The model's trades compared with the same trades of the coin and of always long, trade by trade: an e-value of 20 means that the model chooses sides better. An arm that always holds would have results of zero.",
  );

const result = z.object({
  totalPnlPercent: percent.describe(
    "Sum of the signed percentages: the same stake on every signal, without reinvesting gains.",
  ),
  expectancyPercent: percent.nullable().describe("The average result of a trade, including expired ones."),
  bestPnlPercent: percent.nullable(),
  worstPnlPercent: percent.nullable(),
  profitFactor: z
    .number()
    .nonnegative()
    .nullable()
    .describe("Sum of the gains / sum of the losses; null without a losing trade."),
});

const risk = z
  .object({
    n: count.describe("Trades it is about."),
    sharpe: figure.describe(
      "Per trade, not annualised, no risk-free rate: mean / sample standard deviation; null without deviation.",
    ),
    sortino: figure.describe(
      "Per trade, target 0: mean / root mean square of the losing results over all trades; null without a losing one.",
    ),
    maxDrawdown: z
      .object({
        percent: z.number().nonnegative().describe("Percentage points of the cumulative PnL."),
        peakAt: z.iso.datetime().nullable().describe("null if the fall began at 0, before the first trade."),
        troughAt: z.iso.datetime(),
      })
      .nullable()
      .describe("The deepest fall of the cumulative PnL from an earlier peak; null when it never fell."),
  })
  .describe("After costs. All null below 30 trades.");

const brier = z.number().min(0).max(1).nullable();

export const calibration = z.object({
  n: count.describe("The number of WIN and LOSS signals."),
  brier: brier.describe(
    "Brier score of the stated confidence as the probability of a WIN: mean squared error, 0 perfect, 0.25 a coin toss.",
  ),
  calibratedBrier: brier.describe(
    "The same for the calibrated confidence, which uses only outcomes before its signal.",
  ),
  skill: figure.describe(
    "1 - brier / the Brier score of the levels' own chance: at 0 the confidence says no more than the levels, below 0 less. null below 30.",
  ),
  calibratedSkill: figure.describe("The same for the calibrated confidence."),
  logScore: z
    .object({ n: count, stated: figure, calibrated: figure, chance: figure })
    .describe(
      "Mean logarithmic score, 0 perfect, -0.693 a coin toss, of the stated and the calibrated confidence and of the levels' own chance; for trades that were decided since this is stored.",
    ),
  bins: z
    .array(
      z.object({
        from: share,
        to: share,
        n: count,
        meanConfidence: share.nullable(),
        winrate: share.nullable(),
      }),
    )
    .describe(
      "By stated confidence, from (included) to (excluded, except for 100): if the two figures agree, the confidence is right.",
    ),
});

export const signalStats = z.object({
  summary: z.string().describe("The result in two sentences."),
  n: count.describe("Closed signals, HOLD included."),
  wins: count,
  losses: count,
  expired: count.describe("Closed by age, HOLD included."),
  holds: count.describe("HOLD signals take no position, so they are in none of the figures below."),
  refusedDays: count.describe("Days on which a token got no signal, counted for each token."),
  gaps: z
    .object({ trades: count, minutes: count, sharePercent: share.nullable() })
    .describe(
      "Minutes of all trades' paths that no candle covers, and the trades with more than 5 such minutes, which count at most as chance for an edge.",
    ),
  edge: edge.describe(
    "The headline: score minus chance. A trade's score is the place between stop (0) and tp1 (100) where it ended; its chance is the score of a price without direction, risk / (risk + reward), for any time limit. Before costs.",
  ),
  controls,
  paired,
  winrate: share
    .nullable()
    .describe(
      "wins / (wins + losses), 0 to 100; null when there are none. Near targets and far stops raise it: see edge.",
    ),
  trades: count.describe("BUY and SELL signals with a PnL, expired ones included: the n of the results."),
  beforeCosts: result,
  afterCosts: result,
  costsPercent: percent.describe("The total costs of getting in and out: the difference of the two."),
  exposure: z
    .object({ hours: z.number().nonnegative(), averageHours: z.number().nonnegative().nullable() })
    .describe(
      "How long trades were open in total, and on average; for trades that closed since this is stored.",
    ),
  averageWinPercent: percent.nullable().describe("Before costs."),
  averageLossPercent: percent.nullable().describe("Negative, before costs."),
  risk,
  streaks: z
    .object({
      current: z.object({ outcome: z.enum(["WIN", "LOSS"]), length: count }).nullable(),
      longestWins: count,
      longestLosses: count,
    })
    .describe("Of WINs and LOSSes in closing order; an expired signal neither ends nor lengthens one."),
  calibration,
});

export type SignalStats = z.output<typeof signalStats>;

/** The results of a few signals: of a day, of a week. Percentages are numbers: 1.5 is 1.5 %. */
export const standing = z.object({
  wins: z.number(),
  losses: z.number(),
  expired: z.number(),
  pending: z.number(),
  winrate: z.number().nullable().describe("0 to 100; null if none was won or lost"),
  trades: z.number().describe("BUY and SELL that were closed at a price: the n of the results"),
  totalPnlPercent: z.number(),
  totalAfterCostsPercent: z.number(),
  excessPoints: z
    .number()
    .describe(
      "Sum of score minus chance over the trades, in points; a day proves nothing, see /mcp/signals/history",
    ),
});
export type Standing = z.output<typeof standing>;
