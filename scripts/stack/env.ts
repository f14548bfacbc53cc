import { readFile } from "node:fs/promises";
import { settingsIn } from "../env/file";
import type { Keys } from "./keys";

export type Variables = Record<string, string | undefined>;

/**
 * The providers the application calls. Its own key makes a provider a real one; so does an address of its own. What
 * else belongs to it (`beside`) goes with it.
 */
const providers = {
  "LLM gateway": { key: "LLM_GATEWAY_API_KEY", addresses: ["LLM_ENDPOINT", "AGENT_API_URL"], beside: [] },
  "sentiment model": { key: "SENTIMENT_API_KEY", addresses: ["SENTIMENT_ENDPOINT"], beside: [] },
  messenger: {
    key: "MESSENGER_BOT_TOKEN",
    addresses: ["MESSENGER_API_URL"],
    beside: ["MESSENGER_CHAT_ID", "MESSENGER_BOT_NAME"],
  },
  chain: { key: "CHAIN_RPC_URL", addresses: [], beside: [] },
  "swap provider": { key: "SWAP_API_KEY", addresses: ["SWAP_API_URL"], beside: [] },
  tickers: { key: "TICKER_API_URL", addresses: [], beside: [] },
  "evidence sources": { key: "EVIDENCE_API_URL", addresses: [], beside: [] },
} as const;

export type Provider = keyof typeof providers;
export const providerNames = [
  "LLM gateway",
  "sentiment model",
  "messenger",
  "chain",
  "swap provider",
  "tickers",
  "evidence sources",
] as const satisfies Provider[];

/** Where the stack keeps its rows and keys: `LOCAL_STATE_DIR`, else `.local`. */
export function stateDirectory(variables: Variables): string {
  return variables.LOCAL_STATE_DIR || ".local";
}

/** The operator's settings: `file` (when there is one), under the variables of the environment itself. */
export async function operatorSettings(file: string | null): Promise<Variables> {
  const text = file === null ? "" : await readFile(file, "utf8").catch(() => "");
  return { ...settingsIn(text), ...process.env };
}

/** The providers the operator has set up, which are called for real. */
export function realProviders(settings: Variables): Provider[] {
  return providerNames.filter((name) => {
    const { key, addresses } = providers[name];
    return [key, ...addresses].some((variable) => Boolean(settings[variable]));
  });
}

/** Providers in words: the gateway's key and addresses are its agent API's as well. */
export function shownProviders(names: readonly Provider[]): string[] {
  return names.flatMap((name) => (name === "LLM gateway" ? [name, "agent API"] : [name]));
}

/** The variable that holds a provider's key, or, where it needs none, its address. */
export function keyOf(provider: Provider): string {
  return providers[provider].key;
}

/**
 * All variables the application is to see: the operator's, the stack's own keys where the operator has none, and
 * the stack's for each provider that is not a real one.
 * @param context.local The variables that point to the stack's own chain and stand-ins.
 * @param context.payments The local chain's platform wallet, relayer and anchor account, where the operator has none.
 */
export function applicationVariables(
  settings: Variables,
  context: { local: Variables; payments: Variables; keys: Keys; siteUrl: string; apiUrl: string },
): Variables {
  const variables: Variables = {
    WALLET_ENCRYPTION_KEY: context.keys.walletEncryptionKey,
    MESSENGER_WEBHOOK_SECRET: context.keys.messengerWebhookSecret,
    SOCIAL_WEBHOOK_SECRET: context.keys.socialWebhookSecret,
    ...context.payments,
    ...withValue(settings),
    CONVEX_SITE_URL: context.siteUrl,
    CONVEX_CLOUD_URL: context.apiUrl,
    // A component would take the machine's own LOG_LEVEL for its, and fail on a value it does not know.
    LOG_LEVEL: "REPORT",
  };
  const outside = realProviders(settings);
  for (const name of providerNames) {
    if (outside.includes(name)) continue;
    const { key, addresses, beside } = providers[name];
    // The simulated swaps are on the local chain, and the simulated tickers and sources tell what its feeds tell: beside
    // a real chain there are no swaps, and tickers and sources are the public ones, which need no key.
    const chainBound = name === "swap provider" || name === "tickers" || name === "evidence sources";
    const local = chainBound && outside.includes("chain") ? {} : context.local;
    for (const variable of [key, ...addresses, ...beside]) variables[variable] = local[variable];
  }
  return variables;
}

/** Sets the process's variables, where the application reads them; the answer puts the old ones back. */
export function applyVariables(variables: Variables): () => void {
  const before = { ...process.env };
  assign(variables);
  return () => assign(Object.fromEntries(Object.keys(variables).map((name) => [name, before[name]])));
}

function assign(variables: Variables): void {
  for (const [name, value] of Object.entries(variables)) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
}

/** An empty variable, as a copied example file has many, counts as absent. */
function withValue(variables: Variables): Variables {
  return Object.fromEntries(
    Object.entries(variables).filter(([, value]) => value !== undefined && value !== ""),
  );
}
