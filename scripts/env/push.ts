/**
 * `npm run env:push`: sets the deployment's environment variables from `.env.local` (`LOCAL_ENV_FILE`), all together,
 * through the Convex CLI. `-- --dry-run` only lists them; `-- --prod` and `-- --deployment NAME` are the CLI's own.
 * Values are never shown.
 */

import { readFile } from "node:fs/promises";
import { convexCli } from "../convexCli";
import { bold, dim, nextStep } from "../terminal";
import { problemsOf, settingsFile, settingsIn, problemLine } from "./file";
import { envFile, planPush, type Plan } from "./plan";
import { contradiction, placeOf, targetOf } from "./target";

const FILE = settingsFile();
const USAGE = `Usage: npm run env:push [-- --dry-run] [--json] [--prod] [--deployment NAME]

Sets the deployment's variables from ${FILE}, through the Convex CLI. Values are never shown.

  --dry-run   only says which variables would be set
  --json      prints what was found and whether it was set, as JSON
  --prod, --deployment NAME, --preview-name NAME
              options of the Convex CLI that name the deployment; the default is the one in ${FILE}

Environment: LOCAL_ENV_FILE (.env.local)`;

async function main(args: readonly string[]): Promise<number> {
  if (args.includes("--help")) {
    console.log(USAGE);
    return 0;
  }
  const text = await readFile(FILE, "utf8").catch(() => null);
  if (text === null) {
    console.error(`There is no ${FILE} here: copy .env.local.example and fill in what you have.`);
    return 1;
  }
  const settings = settingsIn(text);
  const options = args.filter((one) => one !== "--dry-run" && one !== "--json");
  const cli = { ...settings, ...fromEnvironment() };
  const nowhere = contradiction(options, cli);
  if (nowhere !== null) {
    console.error(`${nowhere}\nNothing was set.`);
    return 1;
  }
  const plan = planPush(settings, placeOf(options, cli));
  const target = targetOf(options, cli);
  const quotes = problemsOf(text).filter(({ subject, says }) => /quote/.test(says) || /^line /.test(subject));
  const lines = quotes.map((problem) => problemLine(problem, FILE));
  const isSound = plan.malformed.length === 0 && quotes.every(({ level }) => level !== "bad");
  const isPushed = isSound && !args.includes("--dry-run");
  if (args.includes("--json")) {
    const { code, failure } = isPushed ? await push(plan, options, cli) : UNTRIED;
    const isSet = isPushed && code === 0;
    console.log(JSON.stringify({ target, ...namesOf(plan), lines, isSet, failure }, null, 2));
    return isSound ? code : 1;
  }
  console.log([shown(plan, target), ...lines.map((line) => `  line   ${line}`)].join("\n"));
  if (!isSound) {
    console.error("\nNothing was set: correct these first.");
    return 1;
  }
  if (!isPushed) {
    console.log("\nNothing was set: this was a dry run.");
    return 0;
  }
  const { code, failure } = await push(plan, options, cli);
  if (failure !== null) {
    console.error(`\n${failure}\nNothing may have been set: run it again.`);
    return code;
  }
  console.log(`\n${plan.values.size} variables are set${target === null ? "" : ` on ${target}`}.`);
  console.log(nextStep("npm run doctor asks each provider with them"));
  return 0;
}

/** The result of a push: the CLI's exit code, and its message after a failure. */
type Pushed = { code: number; failure: string | null };

const UNTRIED: Pushed = { code: 0, failure: null };

/** The plan without values. */
function namesOf({ values, ...plan }: Plan): Omit<Plan, "values"> & { set: string[] } {
  return { set: [...values.keys()], ...plan };
}

/** The CLI takes these from the environment as well. */
function fromEnvironment(): Record<string, string> {
  const names = ["CONVEX_DEPLOYMENT", "CONVEX_DEPLOY_KEY", "CONVEX_SELF_HOSTED_URL"];
  return Object.fromEntries(names.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
}

function shown(
  { values, defaulted, missing, empty, elsewhere, unknown, malformed, doubtful }: Plan,
  target: string | null,
): string {
  const lines = [
    ...[...values.keys()].map((name) =>
      defaulted.includes(name)
        ? `  set      ${name} ${dim("(a placeholder, because the file has no value)")}`
        : `  set      ${name}`,
    ),
    ...malformed.map(({ name, complaint }) => `  wrong    ${bold(name)}: ${complaint}`),
    ...doubtful.map(({ name, complaint }) => `  doubt    ${bold(name)}: ${complaint}`),
    ...missing.map(
      (name) => `  missing  ${bold(name)}: required: endpoints answer 500 unless the deployment has it`,
    ),
    ...unknown.map((one) => `  unknown  ${bold(one.name)}: ${one.suggestion}`),
    ...empty.map((name) => dim(`  empty    ${name} (optional)`)),
    ...elsewhere.map((name) => dim(`  kept     ${name} (not for the deployment)`)),
  ];
  const where = target ?? "no deployment yet: npx convex init makes one";
  return [bold(`${FILE} → ${where}`), ...lines].join("\n");
}

async function push(
  { values }: Plan,
  options: readonly string[],
  cli: Record<string, string | undefined>,
): Promise<Pushed> {
  // Through standard input: others could read a command line or a file.
  const { code, stdout, stderr } = await convexCli(["env", "set", "--force", ...options], envFile(values), {
    settings: cli,
  });
  return { code, failure: code === 0 ? null : withoutValues(stdout + stderr, values) };
}

/** The CLI's output without any value, the longest first: one may be part of another. */
function withoutValues(text: string, values: ReadonlyMap<string, string>): string {
  const longestFirst = [...values.values()].toSorted((a, b) => b.length - a.length);
  return longestFirst.reduce((rest, value) => rest.replaceAll(value, "•••"), text).trim();
}

process.exitCode = await main(process.argv.slice(2));
