import { OperatorError } from "../command";
import { readFile } from "node:fs/promises";
import { listProblems, parseSettings, listUnknownNames } from "../settings";
import type { Keys } from "./keys";

export type Variables = Record<string, string | undefined>;

/**
 * The providers that the application calls, each with the variables of its key (or address) and of its addresses: if
 * one of them is set, the provider is a real one. Its further variables (`beside`) follow.
 */
const PROVIDERS = {
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

export type Provider = keyof typeof PROVIDERS;
const NAMES: readonly Provider[] = Object.keys(PROVIDERS).filter((name) => isProvider(name));

function isProvider(name: string): name is Provider {
  return Object.hasOwn(PROVIDERS, name);
}

/** Where the stack keeps its rows and keys: `LOCAL_STATE_DIR`, otherwise `.local`. */
export function getStateDirectory(variables: Variables): string {
  return variables.LOCAL_STATE_DIR || ".local";
}

/** The providers that the operator has configured, which are called for real. */
export function listRealProviders(settings: Variables): Provider[] {
  return NAMES.filter((name) => {
    const { key, addresses } = PROVIDERS[name];
    return [key, ...addresses].some((variable) => Boolean(settings[variable]));
  });
}

/** Providers in words: the gateway's key and addresses also serve its agent API. */
export function describeProviders(names: readonly Provider[]): string[] {
  return names.flatMap((name) => (name === "LLM gateway" ? [name, "agent API"] : [name]));
}

/**
 * The operator's settings: from `file` (if there is one); the environment's variables take precedence.
 * @param warn Receives a line for each setting without effect.
 * @throws OperatorError for an impossible value: every request that needs it would get 500.
 */
export async function readCheckedSettings(
  file: string | null,
  warn: (line: string) => void,
): Promise<Variables> {
  const fileSettings = parseSettings(file === null ? "" : await readFile(file, "utf8").catch(() => ""));
  const settings = { ...fileSettings, ...process.env };
  const where = (name: string) => (fileSettings[name] === undefined ? "environment" : file);
  const problems = listProblems(settings, isLoopback(settings.CHAIN_RPC_URL));
  // Unknown names are reported with impossible values: one may be a misspelling of the missing setting.
  const lines = [...problems, ...listUnknownNames(fileSettings)].map(
    ({ name, says }) => `${where(name)}: ${name} ${says}`,
  );
  if (problems.length > 0)
    throw new OperatorError(`${lines.join("\n")}\nFix these lines, or leave them empty.`);
  for (const line of lines) warn(line);
  return settings;
}

/** Whether a chain is on this machine; the stack starts its own if none is set. */
export function isLoopback(url: string | undefined): boolean {
  return !url || /^(?:127\.|localhost$|\[::1\]$)/.test(URL.parse(url)?.hostname ?? "");
}

/**
 * All variables for the application: the operator's, the stack's own keys if the operator has none, and the stack's for
 * each simulated provider.
 * @param context.local The variables that point to the stack's own chain and stand-ins.
 * @param context.payments The local chain's accounts, if the operator has none.
 */
export function buildApplicationVariables(
  settings: Variables,
  context: { local: Variables; payments: Variables; keys: Keys; siteUrl: string; apiUrl: string },
): Variables {
  const { keys, payments, siteUrl, apiUrl } = context;
  // An empty variable, as in a copied example file, counts as absent.
  const set = Object.fromEntries(Object.entries(settings).filter(([, value]) => value));
  const variables: Variables = {
    WALLET_ENCRYPTION_KEY: keys.walletEncryptionKey,
    MESSENGER_WEBHOOK_SECRET: keys.messengerWebhookSecret,
    SOCIAL_WEBHOOK_SECRET: keys.socialWebhookSecret,
    ...payments,
    ...set,
    CONVEX_SITE_URL: siteUrl,
    CONVEX_CLOUD_URL: apiUrl,
    // A component would use the machine's own LOG_LEVEL, and fail for an unknown value.
    LOG_LEVEL: "REPORT",
  };
  const outside = listRealProviders(settings);
  for (const name of NAMES.filter((one) => !outside.includes(one))) {
    const { key, addresses, beside } = PROVIDERS[name];
    // The simulated swaps are on the local chain, whose feeds agree with the simulated sources. With a real chain there
    // are no swaps, and the sources are the public ones, which need no key.
    const isChains = name === "swap provider" || name === "evidence sources";
    const local = isChains && outside.includes("chain") ? {} : context.local;
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
