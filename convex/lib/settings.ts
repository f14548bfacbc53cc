import { defaults, namesOf, optional } from "./env";
import type { PublicSource } from "./publicSources";

/** Settings that are more than one value: lists, a key with its plan, and the gateway that a key is for. */

/** Whether the operator has switched a public source off: its terms may not allow the deployment's use. */
export function isOff(source: PublicSource): boolean {
  return namesOf(optional("SOURCES_OFF") ?? "").includes(source);
}

/** CoinGecko's key and its plan; `null` without one. Source: docs.coingecko.com, reference/authentication. */
export function coingeckoPlan(): { key: string; plan: "demo" | "pro" } | null {
  const configured = optional("COINGECKO_API_KEY");
  if (configured === undefined) return null;
  return {
    key: configured.replace(/^(?:pro|demo):/, ""),
    plan: configured.startsWith("pro:") ? "pro" : "demo",
  };
}

/**
 * Whether an LLM gateway is not the one that the agent API belongs to; `false` for none.
 * @param endpoint The value of `LLM_ENDPOINT`.
 */
function foreignGateway(endpoint: string | undefined): boolean {
  return endpoint !== undefined && new URL(endpoint).origin !== new URL(defaults.LLM_ENDPOINT).origin;
}

/**
 * The address of the agent API. It uses the gateway's key: for another provider's gateway there is none unless the
 * operator names one, so that no company receives another's key.
 * @returns `null` if there is none.
 */
export function agentApiUrl(): string | null {
  const own = optional("AGENT_API_URL");
  if (own !== undefined) return own;
  return foreignGateway(optional("LLM_ENDPOINT")) ? null : defaults.AGENT_API_URL;
}
