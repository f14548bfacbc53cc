import * as z from "zod";
import { EXAMPLE_TIME } from "../platform/http/input";
import { VERSION } from "../lib/version";

const age = z.number().nonnegative().nullable();

/** The state of the service's own work. */
export const ownChecks = z.object({
  crons: z
    .record(z.string(), age)
    .describe("Seconds since each scheduled job last did its work; null when it never has"),
  outbox: z
    .object({
      waiting: z.number().int().describe("How many; 100 means that or more"),
      oldestSeconds: age.describe("The age of the oldest"),
    })
    .describe("Messages that are neither delivered nor given up"),
  pending: z
    .record(z.string(), age)
    .describe(
      "For how many seconds the oldest unfinished work of each kind has been overdue; null when none is",
    ),
  work: z
    .object({ running: z.int(), waiting: z.int(), failing: z.int() })
    .describe(
      "Pieces of leased work: under way, waiting, and those of both with a failed attempt; 100 means that or more",
    ),
  providers: z
    .record(
      z.string(),
      z.object({
        works: z.boolean(),
        since: z.iso.datetime().describe("Since when it works, or fails"),
        failedFrom: z.iso.datetime().optional().describe("From when to `since` it failed last, if it works"),
        refuses: z
          .enum(["key", "account", "address"])
          .optional()
          .describe("Where it answers and refuses this service: its key, its empty account, or its address"),
      }),
    )
    .describe(
      "The providers that were called; one fails from two failed calls in a row until it answers a call",
    ),
  budget: z
    .object({
      resetsAt: z.iso.datetime(),
      limitUsd: z.number().describe("The day's budget"),
      spentUsd: z.number(),
      providers: z.record(z.string(), z.number()).describe("USD by provider"),
    })
    .describe("What the providers that bill have cost on this UTC day, and what is left"),
});

/** The service's health, without the caller's part. */
export const serviceHealth = z.object({
  status: z.enum(["ok", "degraded"]),
  version: z.string(),
  time: z.iso.datetime(),
  reasons: z.array(z.string()).describe("Why it is degraded, a sentence each; none when it is ok"),
  checks: z.object({
    configured: z
      .record(z.string(), z.boolean())
      .describe("Server variables, and whether each is configured"),
    ...ownChecks.shape,
  }),
});
export type ServiceHealth = z.output<typeof serviceHealth>;

export const healthExample: ServiceHealth = {
  status: "ok",
  version: VERSION,
  time: EXAMPLE_TIME,
  reasons: [],
  checks: {
    configured: { LLM_GATEWAY_API_KEY: true, SENTIMENT_API_KEY: true },
    crons: { "check research shifts": 72 },
    outbox: { waiting: 1, oldestSeconds: 2 },
    pending: { work: null, orders: 14, paidReports: null, shifts: null },
    work: { running: 3, waiting: 3, failing: 1 },
    providers: { llm: { works: true, since: "2026-01-04T08:00:00.000Z" } },
    budget: {
      resetsAt: "2026-01-06T00:00:00.000Z",
      limitUsd: 25,
      spentUsd: 2.06,
      providers: { llm: 2.06, sentiment: 0, agentApi: 0 },
    },
  },
};
