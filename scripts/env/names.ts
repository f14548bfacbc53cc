import { distance } from "fastest-levenshtein";
import { checksummed } from "../../convex/lib/money/addresses";
import { complaintAbout, isVariable, variableNames } from "../../convex/lib/env";

/** The names of a settings file, and the form of their values. */

/** `auth.config.ts` reads these at every push, which refuses unset ones; these are the defaults without a web application. */
export const AT_PUSH: Readonly<Record<string, string>> = {
  AUTH_ISSUER: "https://auth.invalid",
  AUTH_APPLICATION_ID: "unset",
};

/** Written or read by the Convex CLI; the deployment does not use them. */
const OF_THE_CLI = [
  "CONVEX_DEPLOYMENT",
  "CONVEX_DEPLOY_KEY",
  "CONVEX_URL",
  "CONVEX_SITE_URL",
  "CONVEX_SELF_HOSTED_URL",
  "CONVEX_SELF_HOSTED_ADMIN_KEY",
];

/** Only read from the process's environment. */
const OF_THE_PROCESS = [
  "PORT",
  "API_PORT",
  "PROVIDERS_PORT",
  "CHAIN_PORT",
  "LOCAL_STATE_DIR",
  "LOCAL_ENV_FILE",
];

/** Without these the endpoints of the specification answer 500. */
export const REQUIRED = [
  "LLM_GATEWAY_API_KEY",
  "SENTIMENT_API_KEY",
  "WALLET_ENCRYPTION_KEY",
  "SWAP_API_KEY",
] as const;

export type Kind = "service" | "push" | "cli" | "process" | "unknown";

export function kindOf(name: string): Kind {
  if (isVariable(name)) return "service";
  if (Object.hasOwn(AT_PUSH, name)) return "push";
  if (OF_THE_CLI.includes(name) || /^(?:VITE|NEXT_PUBLIC|REACT_APP|PUBLIC|EXPO_PUBLIC)_CONVEX_/.test(name)) {
    return "cli";
  }
  return OF_THE_PROCESS.includes(name) ? "process" : "unknown";
}

const known = () => [...variableNames(), ...Object.keys(AT_PUSH), ...OF_THE_CLI, ...OF_THE_PROCESS];

/**
 * The known name that a variable of the process's environment nearly matches; `null` for other variables. An
 * environment is full of foreign names, so only one of two words or more with the same beginning is reported.
 */
export function misspeltName(name: string): string | null {
  const [first = "", ...rest] = name.toUpperCase().split("_");
  if (rest.length === 0 || /^npm_/i.test(name)) return null;
  const nearest = nearestName(name);
  if (nearest === null) return null;
  const [wanted = ""] = nearest.split("_");
  return distance(first, wanted) <= Math.floor(wanted.length / 4) ? nearest : null;
}

/** The known name that is nearest to a misspelled one; `null` if none is near. */
export function nearestName(name: string): string | null {
  const wanted = name.toUpperCase();
  const ranked = known()
    .map((one) => ({ one, apart: distance(wanted, one) }))
    .toSorted((a, b) => a.apart - b.apart);
  const [best] = ranked;
  if (best !== undefined && best.apart <= Math.max(2, Math.floor(wanted.length / 4))) return best.one;
  // Half of a name: LLM_API_KEY for LLM_GATEWAY_API_KEY.
  const words = wanted.split("_").filter((word) => word !== "");
  const holding = known().filter(
    (one) => words.length > 1 && words.every((word) => one.split("_").includes(word)),
  );
  return holding[0] ?? null;
}

/** `did you mean LLM_GATEWAY_API_KEY?`, or other advice about a name that nothing reads. */
export function suggestion(name: string): string {
  const nearest = nearestName(name);
  return nearest === null ? "see .env.local.example for the names" : `did you mean ${nearest}?`;
}

/** A placeholder that was left in place of a value. */
const PLACEHOLDER =
  /^(?:<.*>|\.{3}|…|x{3,}|todo|changeme|change-me|replace[-_ ]?(?:me|with).*|your[-_ ].*)$/i;

/** What is wrong with a value ("must be …"), without repeating it; `null` if nothing is. */
export function complaintOf(name: string, value: string): string | null {
  if (PLACEHOLDER.test(value)) return "is a placeholder, not a value";
  if (isVariable(name)) return complaintAbout(name, value) ?? checksumComplaint(name, value);
  if (name === "AUTH_ISSUER" && !/^https:\/\/[^\s/]+/.test(value)) return "must be an https address";
  return null;
}

/** The case of an address's letters shows whether it was copied completely. */
function checksumComplaint(name: string, value: string): string | null {
  if (name !== "PLATFORM_WALLET_ADDRESS" || !/[a-f]/.test(value) || !/[A-F]/.test(value)) return null;
  return checksummed(value) === value ? null : "has a wrong checksum: copy it again from the wallet";
}
