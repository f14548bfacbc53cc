import { readFile } from "node:fs/promises";
import { problemsOf, settingsIn, unknownNames } from "../settings";
import { keyOf, realProviders, type Variables } from "./env";

/** Settings that cannot be used; the message names each, and its correct form. */
export class SettingsError extends Error {}

/**
 * The operator's settings: from `file` (if there is one); the environment's variables take precedence.
 * @param warn Receives a line for each setting without effect.
 * @throws SettingsError for an impossible value: every request that needs it would get 500.
 */
export async function checkedSettings(file: string | null, warn: (line: string) => void): Promise<Variables> {
  const text = file === null ? "" : await readFile(file, "utf8").catch(() => "");
  const own = settingsIn(text);
  const settings = { ...own, ...process.env };
  const where = (name: string) => (own[name] === undefined ? "environment" : file);
  const problems = problemsOf(settings, isLoopback(settings.CHAIN_RPC_URL));
  // Unknown names are reported with impossible values: one may be a misspelling of the missing setting.
  const lines = [...problems, ...unknownNames(own)].map(
    ({ name, says }) => `${where(name)}: ${name} ${says}`,
  );
  if (problems.length > 0)
    throw new SettingsError(`${lines.join("\n")}\nFix these lines, or leave them empty.`);
  for (const line of [...lines, ...withoutEffect(settings)]) warn(line);
  return settings;
}

/** Whether a chain is this machine's: the stack has its own if none is set. */
function isLoopback(url: string | undefined): boolean {
  if (!url) return true;
  return /^(?:127\.|localhost$|\[::1\]$)/.test(URL.parse(url)?.hostname ?? "");
}

/** Settings that need another one. */
function withoutEffect(settings: Variables): string[] {
  const real = realProviders(settings);
  const lines = real.flatMap((provider) => {
    const key = keyOf(provider);
    if (settings[key]) return [];
    return [
      `The ${provider} has an address of its own but no key: set ${key} as well, or everything that needs it answers 500`,
    ];
  });
  if (settings.MESSENGER_CHAT_ID && !real.includes("messenger")) {
    lines.push("MESSENGER_CHAT_ID has no effect without MESSENGER_BOT_TOKEN: the messenger is simulated");
  }
  return lines;
}
