/** Where the Convex CLI would go, in words: it reads the same variables and options. */

type Settings = Record<string, string | undefined>;

/**
 * The deployment that the CLI's options and settings name.
 * @param options The CLI's own: `--prod`, `--deployment NAME`, `--preview-name NAME`, …
 * @returns A sentence's part such as `the production deployment beside dev:happy-otter-123`; `null` when nothing names one.
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
  if (options.includes("--prod")) return `the production deployment of the project of ${own}`;
  const preview = optionValue(options, "--preview-name");
  return preview === undefined ? `the deployment ${own}` : `the preview deployment ${preview}`;
}

function optionValue(options: readonly string[], name: string): string | undefined {
  const joined = options.find((one) => one.startsWith(`${name}=`));
  if (joined !== undefined) return joined.slice(name.length + 1);
  const at = options.indexOf(name);
  return at === -1 ? undefined : options[at + 1];
}
