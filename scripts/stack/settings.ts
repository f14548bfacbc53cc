import { readFile } from "node:fs/promises";
import { problemsOf, problemsOfEnvironment, settingsIn, problemLine } from "../env/file";
import { complaintsOf } from "../env/rules";
import { kindOf } from "../env/names";
import { keyOf, realProviders, type Variables } from "./env";

/** Settings that cannot be used; the message names each, and its correct form. */
export class SettingsError extends Error {}

/**
 * The operator's settings: from `file` (if there is one); the environment's variables take precedence.
 * @param warn Receives a line for each setting without effect.
 * @throws SettingsError for an impossible value: every request that needs it would get 500.
 */
export async function checkedSettings(file: string | null, warn: (line: string) => void): Promise<Variables> {
  const text = file === null ? null : await readFile(file, "utf8").catch(() => null);
  const problems = [
    ...problemsOf(text ?? "").map((problem) => ({ ...problem, told: problemLine(problem, file ?? "") })),
    ...problemsOfEnvironment(process.env).map((problem) => ({ ...problem, told: problemLine(problem, "") })),
  ];
  const settings = { ...settingsIn(text ?? ""), ...process.env };
  const known = new Set(problems.map(({ subject }) => subject));
  // Rules for the file and the environment together.
  for (const { name: subject, level, says } of complaintsOf(settings, "this machine")) {
    if (known.has(subject) || kindOf(subject) !== "service") continue;
    problems.push({ line: 0, level, subject, says, told: `settings: ${subject} ${says}` });
  }
  const bad = problems.filter(({ level }) => level === "bad");
  if (bad.length > 0) {
    // Unknown names are reported with them: one may be a misspelling of the missing setting.
    throw new SettingsError(
      `${problems.map((problem) => problem.told).join("\n")}\nFix these lines, or leave them empty.`,
    );
  }
  for (const problem of problems) warn(problem.told);
  for (const line of withoutEffect(settings)) warn(line);
  return settings;
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
