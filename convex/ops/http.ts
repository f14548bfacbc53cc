import * as z from "zod";
import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { defineEndpoint, type MountedEndpoint } from "../platform/http/endpoint";
import { getAgentApiUrl, isSet, type Variable } from "../lib/env";
import { findUnopened } from "./rotation";
import { toIso, SECOND } from "../lib/time";
import { healthExample, serviceHealth, type ServiceHealth } from "./shapes";
import { PUBLIC_SOURCES, getSourceName } from "../figures/publicSources";
import { isLate, isTroubled, PARTS, type Part } from "./checks";
import { listKeys } from "../lib/objects";
import { VERSION } from "../lib/version";

/** Endpoints of the contract answer 500 without any of these. */
const REQUIRED = [
  "LLM_GATEWAY_API_KEY",
  "SENTIMENT_API_KEY",
  "WALLET_ENCRYPTION_KEY",
  "SWAP_API_KEY",
] as const satisfies readonly Variable[];
/** Settings whose presence is shown to the operator, never their values. */
const CHECKED = [...REQUIRED, "MESSENGER_BOT_TOKEN", "AGENT_API_URL"] as const;

/** Answers within this many ms are the same, so that frequent monitoring is cheap. */
const GRAIN_MS = 10 * SECOND;

const health: MountedEndpoint = defineEndpoint({
  methods: ["GET"],
  path: "/health",
  summary: "Whether the service answers, and the state of its own work.",
  description:
    "Always 200 while the service answers at all. `degraded` means that the operator should look, and `reasons` says why: a variable is missing, a cron has missed two turns, work has waited for 30 minutes, a provider has failed twice in a row, the chain's newest block is minutes old or ahead of the clock, a stored secret does not open with the configured key, or a shared part of the budget is nearly used up. `caller` is the address that limits count this request under. Figures are up to 10 seconds old.",
  example: {
    input: {},
    output: { ...healthExample, caller: { address: "198.51.100.7" } },
  },
  input: z.object({}),
  returns: serviceHealth.extend({
    caller: z.object({ address: z.string().describe("The address this request is counted under") }),
  }),
  handler: async (ctx, _input, { caller }) => {
    const { checks, ...state } = await readHealth(ctx);
    return { ...state, caller: { address: caller.address ?? "unknown" }, checks };
  },
});

/** Reads the health; within the grain, the platform's query cache answers. */
async function readHealth(ctx: ActionCtx): Promise<ServiceHealth> {
  const now = Date.now();
  const configured = Object.fromEntries(CHECKED.map((name) => [name, isConfigured(name)]));
  const missing = REQUIRED.filter((name) => !isSet(name)).map((name) => `${name} is not configured`);
  const { reasons: workReasons, checks } = await ctx.runQuery(internal.ops.health.readHealth, {
    now: Math.floor(now / GRAIN_MS) * GRAIN_MS,
  });
  const reasons = [...missing, ...workReasons, ...(await findUnopened(ctx))];
  return {
    status: reasons.length === 0 ? "ok" : "degraded",
    version: VERSION,
    time: toIso(now),
    reasons,
    checks: { configured, ...checks },
  };
}

/** A part is not there without its variable. */
const NEEDED = {
  answers: "LLM_GATEWAY_API_KEY",
  messages: "MESSENGER_BOT_TOKEN",
  wallets: "WALLET_ENCRYPTION_KEY",
  payments: "PLATFORM_WALLET_ADDRESS",
} as const satisfies Record<Part, Variable>;

/**
 * The part of the health that users see. Of each part: whether it is set up, since when it fails (`null` if it works), and
 * from when to when a provider of it failed last; `silent`: the sources of data that do not answer. ISO times.
 */
export async function readStatus(ctx: ActionCtx) {
  const { checks, time } = await readHealth(ctx);
  const findStates = (names: readonly string[]) => names.flatMap((name) => checks.providers[name] ?? []);
  const describePart = (names: readonly string[], isFailing: boolean) => {
    const states = findStates(names);
    const failing = states.filter(({ works }) => !works).map(({ since }) => since);
    const ended = states.flatMap(({ since: to, failedFrom: from }) =>
      from === undefined ? [] : [{ from, to }],
    );
    const last = ended.toSorted((a, b) => b.to.localeCompare(a.to))[0] ?? null;
    return { failsSince: isFailing ? (failing.toSorted()[0] ?? time) : null, last };
  };
  const parts = listKeys(PARTS).map((part) => ({
    part,
    isThere: isSet(NEEDED[part]),
    ...describePart(PARTS[part], isTroubled(part, checks)),
  }));
  const silent = PUBLIC_SOURCES.filter((source) => checks.providers[source]?.works === false);
  const data = { part: "data" as const, isThere: true, ...describePart(PUBLIC_SOURCES, silent.length > 0) };
  return { time, parts: [data, ...parts], isLate: isLate(checks), silent: silent.map(getSourceName) };
}

/** The agent API needs no setting with its own gateway, and an address with another one. */
function isConfigured(name: Variable): boolean {
  if (name !== "AGENT_API_URL") return isSet(name);
  try {
    return getAgentApiUrl() !== null;
  } catch {
    // The variable is set, but malformed.
    return false;
  }
}

export const opsEndpoints: MountedEndpoint[] = [health];
