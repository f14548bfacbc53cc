import * as z from "zod";
import { chainHead } from "../eventChain";
import { calibration } from "../statisticsShapes";

/** What callers see of the shadow lab. Percentages are numbers: 1.5 is 1.5 %. */

const count = z.int().nonnegative();
const points = z.number();

const bounds = {
  days: count.describe("Whole days that count, each one observation."),
  excessPoints: points.nullable().describe("Mean over days, in points a slot; null before the first."),
  lowPoints: points.describe("Bound of the confidence sequence: holds with 95 % at all times together."),
  highPoints: points.describe("The other bound, of the same kind."),
  eValue: z
    .number()
    .nonnegative()
    .describe(
      "What betting on it has made of 1: if there is nothing, it ever reaches 20 with a probability of 5 % at most.",
    ),
};

const { n, brier, calibratedBrier } = calibration.shape;

export const shadowArm = z.object({
  arm: z.string().describe("A model and a prompt: claude-haiku-4.5@signal-2."),
  model: z.string(),
  promptVersion: z.string(),
  since: z.iso.datetime().describe("When it was first asked."),
  asked: z.boolean().describe("Whether it is asked now: `SHADOW_ARMS` names it."),
  writes: z.boolean().describe("Whether it writes the daily signals now."),
  n: count.describe("Closed signals, HOLD included."),
  holds: count,
  wins: count,
  losses: count,
  expired: count,
  missed: count.describe("Hours in which it was asked and there was no signal."),
  excessPoints: points
    .nullable()
    .describe(
      "Mean over all trades of score minus chance, as for the daily signals: signals of neighbouring hours overlap, so this alone proves nothing. null without a trade.",
    ),
  averageBeforeCostsPercent: z.number().nullable(),
  averageAfterCostsPercent: z.number().nullable(),
  edge: z
    .object({
      ...bounds,
      verdict: z.enum(["better than chance", "worse than chance", "not told from chance"]),
    })
    .describe(
      "Against the chance of its own levels. A day is one observation: the excess of all trades of 00:00 to 16:59 UTC over the 51 slots of these hours, a slot without a trade counting 0; all of them have ended before the next day's begin.",
    ),
  calibration: z
    .object({ n, brier, calibratedBrier })
    .describe("Of its own signals, calibrated by its own earlier outcomes alone."),
  againstWriter: z
    .object({
      writer: z.string(),
      ...bounds,
      needed: z.number().describe("The e-value from which it may be promoted: 20 for each arm compared."),
    })
    .nullable()
    .describe(
      "The same of the difference from the arm that writes the daily signals, slot by slot; null: the two were never asked in the same hours.",
    ),
});
export type ShadowArm = z.output<typeof shadowArm>;

const promotion = z.object({
  sequence: z.int().positive().describe("Its event in /signals/proof."),
  arm: z.string(),
  instead: z.string(),
  at: z.iso.datetime(),
  eValue: z.number().nonnegative(),
  needed: z.number(),
  days: count,
  forced: z.string().nullable().describe("The operator's reason where the e-value did not say so."),
});

export const shadowLab = z.object({
  writer: z.string().describe("The arm that writes the daily signals."),
  arms: z.array(shadowArm).describe("Every arm that was ever asked, by name."),
  promotions: z.array(promotion).describe("The newest 20, newest first."),
  head: chainHead.nullable().describe("Of the shadow signals' chain of events; null before the first."),
});
export type ShadowLab = z.output<typeof shadowLab>;

export const shadowArmExample: ShadowArm = {
  arm: "claude-haiku-4.5@signal-3",
  ...{ model: "claude-haiku-4.5", promptVersion: "signal-3", since: "2026-01-05T09:11:00.000Z" },
  ...{ asked: true, writes: false, n: 1_440, holds: 600, wins: 380, losses: 390, expired: 70, missed: 12 },
  ...{ excessPoints: 1.4, averageBeforeCostsPercent: 0.02, averageAfterCostsPercent: -0.13 },
  edge: {
    ...{ days: 20, excessPoints: 0.8, lowPoints: -9.1, highPoints: 10.6, eValue: 1.06 },
    verdict: "not told from chance",
  },
  calibration: { n: 770, brier: 0.262, calibratedBrier: 0.249 },
  againstWriter: {
    writer: "claude-haiku-4.5@signal-2",
    ...{ days: 20, excessPoints: 0.5, lowPoints: -25.2, highPoints: 27.3, eValue: 1.02, needed: 20 },
  },
};

export const shadowLabExample: ShadowLab = {
  writer: "claude-haiku-4.5@signal-2",
  arms: [shadowArmExample],
  promotions: [],
  head: { sequence: 2_892, hash: "7a".repeat(32) },
};
