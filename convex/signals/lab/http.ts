import * as z from "zod";
import { internal } from "../../_generated/api";
import { EXAMPLE_TIME } from "../../lib/examples";
import { endpoint, type MountedEndpoint } from "../../lib/http";
import { absentWhenEmpty, wholeNumber } from "../../lib/input";
import { shadowEvent } from "./eventChain";
import { shadowLab, shadowLabExample } from "./shapes";

const shadow: MountedEndpoint = endpoint({
  methods: ["GET"],
  path: "/signals/shadow",
  summary:
    "The shadow lab: models and prompts that are asked for a signal every hour, which nobody is sent, and what they have shown.",
  description:
    "Off where the operator names no arms. None of it is in the daily signals, their statistics or their calibration. Every shadow signal is an event before its outcome can be known, in a hash chain of its own, made like that of /signals/proof, which once a day holds its head. An arm that has shown more than the one that writes the daily signals may be promoted to write them: that is an event of /signals/proof, with its reasons.",
  needs: [],
  example: {
    input: { after: 0, limit: 1 },
    output: {
      ...shadowLabExample,
      events: [
        {
          ...{ sequence: 1, kind: "missed", contentHash: "3b".repeat(32), previousHash: "0".repeat(64) },
          hash: "b4".repeat(32),
          content: {
            ...{ arm: "claude-haiku-4.5@signal-3", token: "SOL", hour: "2026-01-05T09:00:00.000Z" },
            ...{ reason: "refused", at: EXAMPLE_TIME },
          },
        },
      ],
      count: 1,
    },
  },
  input: z.object({
    after: absentWhenEmpty(wholeNumber(0, Number.MAX_SAFE_INTEGER))
      .transform((after) => after ?? 0)
      .describe("Events behind this sequence number; default 0: from the beginning"),
    limit: absentWhenEmpty(wholeNumber(1, 500))
      .transform((limit) => limit ?? 100)
      .describe("Events, 1 to 500, default 100"),
  }),
  returns: shadowLab.extend({
    events: z.array(shadowEvent).describe("Of the shadow signals' chain, oldest first"),
    count: z.number().describe("How many events this answer holds"),
  }),
  handler: async (ctx, { after, limit }) => {
    const { readLab } = await import("./views");
    const lab = await readLab(ctx);
    const events = await ctx.runQuery(internal.signals.lab.history.events, { after, limit });
    return { ...lab, events, count: events.length };
  },
});

export const labEndpoints: MountedEndpoint[] = [shadow];
