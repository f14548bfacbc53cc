import * as z from "zod";
import { chainHead, promotedContent } from "../record/events";
import { calibration, edge } from "../statistics/shapes";

/** What callers see of the shadow lab. Percentages are numbers: 1.5 is 1.5 %. */

const count = z.int().nonnegative();
const points = z.number();

/** As for the daily signals, in points per slot. */
const bounds = edge
  .omit({ trades: true, afterCosts: true, verdict: true })
  .extend({ days: count.describe("Each one observation.") });

const { n, brier, calibratedBrier } = calibration.shape;

const shadowArm = z.object({
  arm: z.string(),
  model: z.string(),
  promptVersion: z.string(),
  since: z.iso.datetime(),
  asked: z.boolean(),
  writes: z.boolean(),
  n: count.describe("Closed signals, HOLD included."),
  holds: count,
  wins: count,
  losses: count,
  expired: count,
  missed: count.describe("Asked for, but no signal was issued."),
  excessPoints: points
    .nullable()
    .describe(
      "Mean over all trades of score minus chance. Neighbouring hours overlap, so this proves nothing by itself.",
    ),
  averageBeforeCostsPercent: z.number().nullable(),
  averageAfterCostsPercent: z.number().nullable(),
  edge: bounds
    .extend({ afterCosts: edge.shape.afterCosts, verdict: edge.shape.verdict })
    .describe(
      "Against chance. A day is one observation: the excess of all trades of 00:00 to 16:59 UTC, divided by the 51 slots of these hours.",
    ),
  calibration: z
    .object({ n, brier, calibratedBrier })
    .describe("Calibrated only by its own earlier outcomes."),
  againstWriter: bounds
    .extend({
      writer: z.string(),
      needed: z
        .number()
        .describe("The e-value that is needed for a promotion: 20 for each arm that was compared."),
    })
    .nullable()
    .describe(
      "The same for the difference from the arm that writes the daily signals; null if both were never asked in the same hours.",
    ),
});
export type ShadowArm = z.output<typeof shadowArm>;

const promotion = promotedContent.extend({
  sequence: z.int().positive().describe("Its event in /signals/proof."),
});

export const shadowLab = z.object({
  writer: z.string().describe("The arm that writes the daily signals."),
  arms: z.array(shadowArm).describe("Every arm that was ever asked, by name."),
  promotions: z.array(promotion).describe("The newest 20, newest first."),
  head: chainHead.nullable().describe("Of the shadow signals' chain of events; null before the first event."),
});
export type ShadowLab = z.output<typeof shadowLab>;
