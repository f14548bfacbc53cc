/**
 * `npm run env:push`: sets the deployment's environment variables from `.env.local`, all at once, through the Convex
 * CLI. `-- --dry-run` only says which; `-- --prod` and `-- --deployment NAME` are the CLI's own. Values are never shown.
 */

import { readFile } from "node:fs/promises";
import { parseEnv } from "node:util";
import { convexCli } from "../convexCli";
import { bold, dim } from "../terminal";
import { envFile, planPush, type Plan } from "./plan";

const FILE = ".env.local";

const args = process.argv.slice(2);
const dryRun = args.includes("--dry-run");
const text = await readFile(FILE, "utf8").catch(() => null);
if (text === null) {
  console.error(`There is no ${FILE} here: copy .env.local.example and fill in what you have.`);
  process.exit(1);
}

const plan = planPush(parseEnv(text));
console.log(shown(plan));
if (plan.malformed.length > 0) {
  console.error("\nNothing was set: correct these first.");
  process.exitCode = 1;
} else if (dryRun) {
  console.log("\nNothing was set: this was a dry run.");
} else {
  process.exitCode = await push(
    plan,
    args.filter((one) => one !== "--dry-run"),
  );
}

function shown({ values, defaulted, empty, foreign, malformed }: Plan): string {
  const lines = [
    ...[...values.keys()].map((name) =>
      defaulted.includes(name)
        ? `  set    ${name} ${dim("(a placeholder: there is none in the file)")}`
        : `  set    ${name}`,
    ),
    ...malformed.map(({ name, complaint }) => `  wrong  ${bold(name)}: ${complaint}`),
    ...empty.map((name) => dim(`  empty  ${name}`)),
    ...foreign.map((name) => dim(`  other  ${name}`)),
  ];
  return [bold(`${FILE} → the deployment's environment`), ...lines].join("\n");
}

/** @returns The CLI's exit code. */
async function push({ values }: Plan, options: readonly string[]): Promise<number> {
  // By its standard input: on a command line or in a file others could read them.
  const { code, stdout, stderr } = await convexCli(["env", "set", "--force", ...options], envFile(values));
  if (code === 0) console.log(`\n${values.size} variables are set.`);
  else console.error(`\n${withoutValues(stdout + stderr, values)}\nNothing may have been set: run it again.`);
  return code;
}

/** What the CLI said, without any value in it, the longest first: one may be part of another. */
function withoutValues(text: string, values: ReadonlyMap<string, string>): string {
  const longestFirst = [...values.values()].toSorted((a, b) => b.length - a.length);
  return longestFirst.reduce((rest, value) => rest.replaceAll(value, "•••"), text).trim();
}
