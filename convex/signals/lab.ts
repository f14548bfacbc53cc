import * as z from "zod";
import { internal } from "../_generated/api";
import { endpoint, type MountedEndpoint } from "../lib/http";
import { wholeNumberOr } from "../lib/input";
import { figuresOfArm } from "./arms/arms";
import { chainHead, promotedContent, shadowEvent } from "./record/events";
import { calibration, edge } from "./statistics/shapes";
import { storedExample, totalsExample } from "./views/examples";

const count = z.int().nonnegative();
const points = z.number();

/** As of the daily signals, in points a slot. */
const bounds = edge
  .omit({ trades: true, verdict: true })
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
  missed: count.describe("Asked, and no signal."),
  excessPoints: points
    .nullable()
    .describe(
      "Mean over all trades of score minus chance. Neighbouring hours overlap: this alone proves nothing.",
    ),
  averageBeforeCostsPercent: z.number().nullable(),
  averageAfterCostsPercent: z.number().nullable(),
  edge: bounds
    .extend({ verdict: edge.shape.verdict })
    .describe(
      "Against chance. A day is one observation: the excess of all trades of 00:00 to 16:59 UTC, divided by the 51 slots of these hours.",
    ),
  calibration: z
    .object({ n, brier, calibratedBrier })
    .describe("Calibrated by its own earlier outcomes alone."),
  againstWriter: bounds
    .extend({ writer: z.string(), needed: z.number().describe("To be promoted: 20 for each arm compared.") })
    .nullable()
    .describe(
      "The same of the difference from the arm that writes the daily signals; null: never asked in the same hours.",
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
  head: chainHead.nullable().describe("Of the shadow signals' chain of events; null before the first."),
});
export type ShadowLab = z.output<typeof shadowLab>;

const { model, promptVersion } = storedExample;

/** An arm that has answered once, as the daily signals' example did. */
export const shadowLabExample: ShadowLab = {
  writer: `${model}@${promptVersion}`,
  arms: [
    {
      ...{ arm: `${model}@signal-3`, model, promptVersion: "signal-3", since: "2026-01-05T09:11:00.000Z" },
      ...{ asked: true, writes: false, ...figuresOfArm(totalsExample), againstWriter: null },
    },
  ],
  promotions: [],
  head: { sequence: 2_892, hash: "7a".repeat(32) },
};

const shadow: MountedEndpoint = endpoint({
  methods: ["GET"],
  path: "/signals/shadow",
  summary:
    "Models and prompts that are asked for a signal every hour, which nobody is sent, and what they have shown.",
  description:
    "Off where the operator names no arms. Every shadow signal is an event before its outcome can be known, in a hash chain of its own, whose head is in /signals/proof once a day. An arm that has shown more than the one that writes the daily signals may be promoted to write them.",
  needs: [],
  example: {
    input: { after: 2_892 },
    output: {
      ...shadowLabExample,
      events: [],
      count: 0,
    },
  },
  input: z.object({
    after: wholeNumberOr(0, 0, Number.MAX_SAFE_INTEGER).describe(
      "Events behind this sequence number; default 0: from the beginning",
    ),
    limit: wholeNumberOr(100, 1, 500).describe("Events, 1 to 500, default 100"),
  }),
  returns: shadowLab.extend({
    events: z.array(shadowEvent).describe("Of the shadow signals' chain, oldest first"),
    count: z.number().describe("How many events this answer holds"),
  }),
  handler: async (ctx, { after, limit }) => {
    const lab = await ctx.runQuery(internal.signals.arms.history.lab, {});
    const events = await ctx.runQuery(internal.signals.arms.history.events, { after, limit });
    return { ...lab, events, count: events.length };
  },
});

export const labEndpoints: MountedEndpoint[] = [shadow];
