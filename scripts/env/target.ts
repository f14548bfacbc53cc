/** The Convex CLI's target in words, from the same variables and options. */

import type { Place } from "./rules";

type Settings = Record<string, string | undefined>;

/**
 * The deployment that the CLI's options and settings name.
 * @param options The CLI's own: `--prod`, `--deployment NAME`, `--preview-name NAME`, …
 * @returns A part of a sentence such as `the production deployment beside dev:happy-otter-123`; `null` if none is
 * named.
 */
export function targetOf(options: readonly string[], settings: Settings): string | null {
  const named = optionValue(options, "--deployment") ?? optionValue(options, "--deployment-name");
  if (named !== undefined) return `the deployment ${named}`;
  const url = optionValue(options, "--url") ?? settings.CONVEX_SELF_HOSTED_URL?.trim();
  if (url !== undefined && url !== "") return `the self-hosted deployment at ${url}`;
  const own = settings.CONVEX_DEPLOYMENT?.trim().split(/[\s#]/)[0] ?? "";
  const key = settings.CONVEX_DEPLOY_KEY?.trim() ?? "";
  // `prod:happy-otter-123|secret`
  const [, keyOf = "its own"] = /^([\w:-]{1,60})\|/.exec(key) ?? [];
  if (key !== "") return `the deployment of CONVEX_DEPLOY_KEY (${keyOf})`;
  if (own === "") return null;
  if (options.includes("--prod")) {
    const local = isLocal(own) ? " (not that one, which runs on this machine)" : "";
    return `the production deployment of the project of ${own}${local}`;
  }
  const preview = optionValue(options, "--preview-name");
  return preview === undefined ? `the deployment ${own}` : `the preview deployment ${preview}`;
}

/** The CLI's names for deployments on this machine: `local:…` is a project's, `anonymous:…` has no project. */
function isLocal(name: string): boolean {
  return /^(?:local|anonymous)[:-]/.test(name) || name === "local";
}

/** Why the options and settings name no deployment, in a sentence; `null` if they do. */
export function contradiction(options: readonly string[], settings: Settings): string | null {
  if (!options.includes("--prod") || optionValue(options, "--deployment") !== undefined) return null;
  const own = settings.CONVEX_DEPLOYMENT?.trim() ?? "";
  if (settings.CONVEX_DEPLOY_KEY?.trim() || settings.CONVEX_SELF_HOSTED_URL?.trim()) {
    return "--prod has no meaning with CONVEX_DEPLOY_KEY or CONVEX_SELF_HOSTED_URL, which name a deployment: leave it out.";
  }
  if (!own.startsWith("anonymous")) return null;
  return "--prod: CONVEX_DEPLOYMENT is an anonymous deployment of this machine, whose project has no production. Log in and choose a project with npx convex dev.";
}

/** Where the settings will be used, once a deployment is named. */
export function placeOf(options: readonly string[], settings: Settings): Place {
  const named = optionValue(options, "--deployment") ?? optionValue(options, "--deployment-name");
  if (named !== undefined) return isLocal(named) ? "own host" : "deployment";
  const url = optionValue(options, "--url") ?? settings.CONVEX_SELF_HOSTED_URL?.trim() ?? "";
  if (url !== "") return "own host";
  if (options.includes("--prod") || settings.CONVEX_DEPLOY_KEY?.trim()) return "deployment";
  return isLocal(settings.CONVEX_DEPLOYMENT?.trim() ?? "") ? "own host" : "deployment";
}

function optionValue(options: readonly string[], name: string): string | undefined {
  const joined = options.find((one) => one.startsWith(`${name}=`));
  if (joined !== undefined) return joined.slice(name.length + 1);
  const at = options.indexOf(name);
  return at === -1 ? undefined : options[at + 1];
}
