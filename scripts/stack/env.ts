import type { Keys } from "./keys";

export type Variables = Record<string, string | undefined>;

/**
 * The providers that the application calls. Its own key, or an address of its own, makes a provider a real one. Its
 * further variables (`beside`) follow.
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
  "evidence sources": { key: "EVIDENCE_API_URL", addresses: [], beside: [] },
} as const;

export type Provider = keyof typeof providers;
const providerNames = [
  "LLM gateway",
  "sentiment model",
  "messenger",
  "chain",
  "swap provider",
  "evidence sources",
] as const satisfies Provider[];

/** Where the stack keeps its rows and keys: `LOCAL_STATE_DIR`, otherwise `.local`. */
export function stateDirectory(variables: Variables): string {
  return variables.LOCAL_STATE_DIR || ".local";
}

/** The providers that the operator has set up, which are called for real. */
export function realProviders(settings: Variables): Provider[] {
  return providerNames.filter((name) => {
    const { key, addresses } = providers[name];
    return [key, ...addresses].some((variable) => Boolean(settings[variable]));
  });
}

/** Providers in words: the gateway's key and addresses also serve its agent API. */
export function shownProviders(names: readonly Provider[]): string[] {
  return names.flatMap((name) => (name === "LLM gateway" ? [name, "agent API"] : [name]));
}

/** The variable of a provider's key, or, if it needs none, of its address. */
export function keyOf(provider: Provider): string {
  return providers[provider].key;
}

/**
 * All variables for the application: the operator's, the stack's own keys if the operator has none, and the stack's for
 * each simulated provider.
 * @param context.local The variables that point to the stack's own chain and stand-ins.
 * @param context.payments The local chain's platform wallet, relayer and anchor account, if the operator has none.
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
    // A component would use the machine's own LOG_LEVEL, and fail for an unknown value.
    LOG_LEVEL: "REPORT",
  };
  const outside = realProviders(settings);
  for (const name of providerNames) {
    if (outside.includes(name)) continue;
    const { key, addresses, beside } = providers[name];
    // The simulated swaps are on the local chain, whose feeds agree with the simulated sources. With a real chain there
    // are no swaps, and the sources are the public ones, which need no key.
    const chainBound = name === "swap provider" || name === "evidence sources";
    const local = chainBound && outside.includes("chain") ? {} : context.local;
    for (const variable of [key, ...addresses, ...beside]) variables[variable] = local[variable];
  }
  return variables;
}

/** Sets the process's variables for the application; the returned function restores the old ones. */
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

/** An empty variable, as in a copied example file, counts as absent. */
function withValue(variables: Variables): Variables {
  return Object.fromEntries(
    Object.entries(variables).filter(([, value]) => value !== undefined && value !== ""),
  );
}
