import * as z from "zod";
import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { EXAMPLE_TIME } from "../lib/examples";
import { endpoint, type MountedEndpoint } from "../lib/http";
import { optional, type Variable } from "../lib/env";
import { iso, SECOND } from "../lib/time";
import { VERSION } from "./version";

/** What the operator may want to know is set; only whether it is, never what it is. */
const CHECKED = [
  "LLM_GATEWAY_API_KEY",
  "SENTIMENT_API_KEY",
  "MESSENGER_BOT_TOKEN",
  "WALLET_ENCRYPTION_KEY",
] as const satisfies readonly Variable[];

/** Answers within this many ms are one and the same, so that a monitor that asks often costs little. */
const GRAIN_MS = 10 * SECOND;

const age = z.number().nonnegative().nullable();

/** How the service is, without who asks. */
export const serviceHealth = z.object({
  status: z.enum(["ok", "degraded"]),
  version: z.string(),
  time: z.iso.datetime(),
  reasons: z.array(z.string()).describe("Why it is degraded, a sentence each; none when it is ok"),
  checks: z.object({
    configured: z
      .record(z.string(), z.boolean())
      .describe("Server variables, and whether each is configured"),
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
        "Model calls of scheduled work and of requests, by whose they are; 100 waiting means that or more",
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
        providers: z.record(
          z.string(),
          z.object({
            limitUsd: z.number().describe("The day's budget"),
            spentUsd: z.number().describe("Calls and what they cost; a shift counts whole when it starts"),
            leftUsd: z.number(),
            by: z
              .record(z.string(), z.number())
              .describe(
                "USD by whose money it was: `service`, `paid` reports, `signedIn` and `anonymous` callers, who may spend two fifths each; `lab`: shadow signals, a tenth at most; `shift`: what begun shifts really cost",
              ),
          }),
        ),
      })
      .describe("What the providers that bill have cost on this UTC day, and what is left"),
  }),
});
export type ServiceHealth = z.output<typeof serviceHealth>;

const health: MountedEndpoint = endpoint({
  methods: ["GET"],
  path: "/health",
  summary: "Whether the service answers, and how its own work goes.",
  description:
    "Always 200 while the service answers at all. `degraded` means that somebody should look: a cron has missed two turns, a card or a piece of work has waited for more than 30 minutes, or more than half of at least 10 calls of a provider failed within the hour. `reasons` says which. A variable that is not configured does not change the status. `caller` is who the service takes the caller for, by whom limits are counted: what a caller can choose by a header is no limit. Figures are up to 10 seconds old.",
  needs: [],
  example: {
    input: {},
    output: {
      status: "ok",
      version: VERSION,
      time: EXAMPLE_TIME,
      reasons: [],
      caller: { address: "198.51.100.7" },
      checks: {
        configured: { LLM_GATEWAY_API_KEY: true, SENTIMENT_API_KEY: true },
        crons: { "collect data for research shifts": 72, "recompute the ledger": null },
        outbox: { waiting: 1, oldestSeconds: 2 },
        pending: { shiftCollections: null, transactions: 14 },
        lanes: { service: { running: 1, waiting: 0 }, anonymous: { running: 2, waiting: 3 } },
        providers: { llm: { calls: 212, failures: 3, errorRate: 0.014 } },
        budget: {
          resetsAt: "2026-01-06T00:00:00.000Z",
          providers: {
            llm: {
              limitUsd: 25,
              spentUsd: 1.84,
              leftUsd: 23.16,
              by: { service: 0.31, signedIn: 0.9, anonymous: 0.63, shift: 0.22 },
            },
          },
        },
      },
    },
  },
  input: z.object({}),
  returns: serviceHealth.extend({
    caller: z.object({ address: z.string().describe("The address this request is counted under") }),
  }),
  handler: async (ctx, _input, { caller }) => {
    const { checks, ...told } = await readHealth(ctx);
    return { ...told, caller: { address: caller.address ?? "unknown" }, checks };
  },
});

/** Asked again within the grain, it is the platform's query cache that answers. */
export async function readHealth(ctx: ActionCtx): Promise<ServiceHealth> {
  const now = Date.now();
  const configured = Object.fromEntries(CHECKED.map((name) => [name, isConfigured(name)]));
  const { reasons, checks } = await ctx.runQuery(internal.ops.health.read, {
    now: Math.floor(now / GRAIN_MS) * GRAIN_MS,
  });
  return {
    status: reasons.length === 0 ? "ok" : "degraded",
    version: VERSION,
    time: iso(now),
    reasons,
    checks: {
      configured,
      ...checks,
      budget: { ...checks.budget, resetsAt: iso(checks.budget.resetsAt) },
    },
  };
}

function isConfigured(name: Variable): boolean {
  try {
    return optional(name) !== undefined;
  } catch {
    // Set, but malformed.
    return false;
  }
}

export const opsEndpoints: MountedEndpoint[] = [health];
