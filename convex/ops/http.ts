import * as z from "zod";
import { EXAMPLE_TIME } from "../lib/examples";
import { endpoint, type MountedEndpoint } from "../lib/http";
import { optional, type Variable } from "../lib/env";
import { iso } from "../lib/time";
import { VERSION } from "./version";

/** What the operator may want to know is set; only whether it is, never what it is. */
const CHECKED = [
  "LLM_GATEWAY_API_KEY",
  "SENTIMENT_API_KEY",
  "MESSENGER_BOT_TOKEN",
  "WALLET_ENCRYPTION_KEY",
] as const satisfies readonly Variable[];

const health: MountedEndpoint = endpoint({
  methods: ["GET"],
  path: "/health",
  summary: "Whether the service answers, and which of its keys are configured.",
  needs: [],
  example: {
    input: {},
    output: {
      status: "ok",
      version: VERSION,
      time: EXAMPLE_TIME,
      checks: { LLM_GATEWAY_API_KEY: true, SENTIMENT_API_KEY: true },
    },
  },
  input: z.object({}),
  returns: z.object({
    status: z.literal("ok"),
    version: z.string(),
    time: z.iso.datetime(),
    checks: z.record(z.string(), z.boolean()).describe("Server variables, and whether each is configured"),
  }),
  handler: () => {
    const checks = Object.fromEntries(CHECKED.map((name) => [name, isConfigured(name)]));
    return Promise.resolve({ status: "ok" as const, version: VERSION, time: iso(Date.now()), checks });
  },
});

function isConfigured(name: Variable): boolean {
  try {
    return optional(name) !== undefined;
  } catch {
    // Set, but malformed.
    return false;
  }
}

export const opsEndpoints: MountedEndpoint[] = [health];
