import * as z from "zod";
import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { endpoint, type MountedEndpoint } from "../lib/http";
import { optional, type Variable } from "../lib/env";
import { iso, SECOND } from "../lib/time";
import { healthExample, serviceHealth, type ServiceHealth } from "./shapes";
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

const health: MountedEndpoint = endpoint({
  methods: ["GET"],
  path: "/health",
  summary: "Whether the service answers, and how its own work goes.",
  description:
    "Always 200 while the service answers at all. `degraded` means that somebody should look: a cron has missed two turns, a card or a piece of work has waited for more than 30 minutes, or more than half of at least 10 calls of a provider failed within the hour. `reasons` says which. A variable that is not configured does not change the status. `caller` is who the service takes the caller for, by whom limits are counted: what a caller can choose by a header is no limit. Figures are up to 10 seconds old.",
  needs: [],
  example: {
    input: {},
    output: { ...healthExample, caller: { address: "198.51.100.7" } },
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
    checks: { configured, ...checks },
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
