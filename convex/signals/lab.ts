import * as z from "zod";
import { internal } from "../_generated/api";
import { endpoint, type MountedEndpoint } from "../lib/http/endpoint";
import { wholeNumberOr } from "../lib/http/input";
import { shadowLabExample } from "./arms/figures";
import { shadowLab } from "./arms/shapes";
import { shadowEvent } from "./record/events";

const shadow: MountedEndpoint = endpoint({
  methods: ["GET"],
  path: "/signals/shadow",
  summary:
    "Models and prompts that are asked for a signal every hour, which nobody is sent, and what they have shown.",
  description:
    "Off where the operator names no arms. Every shadow signal is an event before its outcome can be known, in a hash chain of its own, whose head is in /signals/proof once a day. An arm that has shown more than the one that writes the daily signals may be promoted to write them.",
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
