import * as z from "zod";
import { EXAMPLE_TIME } from "../lib/http/examples";
import { VERSION } from "./version";

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
    .describe("The age in seconds of the oldest unfinished piece of work by kind; null when none waits"),
  lanes: z
    .record(z.string(), z.object({ running: z.int(), waiting: z.int() }))
    .describe(
      "Model calls of scheduled work and of requests, by whose they are, and the messenger's; 100 waiting means that or more",
    ),
  work: z
    .object({ running: z.int(), waiting: z.int(), resting: z.int(), failing: z.int() })
    .describe(
      "Pieces of leased work: under way, waiting for a place, resting until their next attempt, and of all those the ones that have failed before; 100 means that or more",
    ),
  links: z
    .object({ unconfirmed: z.int().describe("How many; 100 means that or more") })
    .describe(
      "Messenger accounts that were linked over HTTP without MESSENGER_CONNECT_SECRET, and have not confirmed it to the service's own bot",
    ),
  providers: z
    .record(
      z.string(),
      z.object({
        calls: z.number().int(),
        failures: z.number().int(),
        errorRate: z.number().describe("0 to 1"),
      }),
    )
    .describe("Outside services asked in the last hour"),
  budget: z
    .object({
      resetsAt: z.iso.datetime(),
      limitUsd: z.number().describe("The day's budget"),
      spentUsd: z.number(),
      providers: z.record(
        z.string(),
        z.object({
          spentUsd: z.number(),
          by: z
            .record(z.string(), z.number())
            .describe(
              "USD by payer: `service`, `paid` reports, running shifts (`shift`), `signedIn` and `anonymous` callers, who have three fifths together",
            ),
        }),
      ),
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
    crons: { "collect data for research shifts": 72, "recompute the ledger": null },
    outbox: { waiting: 1, oldestSeconds: 2 },
    pending: { shiftCollections: null, transactions: 14 },
    lanes: { service: { running: 1, waiting: 0 }, anonymous: { running: 2, waiting: 3 } },
    work: { running: 3, waiting: 3, resting: 1, failing: 1 },
    links: { unconfirmed: 0 },
    providers: { llm: { calls: 212, failures: 3, errorRate: 0.014 } },
    budget: {
      resetsAt: "2026-01-06T00:00:00.000Z",
      limitUsd: 25,
      spentUsd: 2.06,
      providers: {
        llm: { spentUsd: 2.06, by: { service: 0.31, signedIn: 0.9, anonymous: 0.63, shift: 0.22 } },
      },
    },
  },
};
