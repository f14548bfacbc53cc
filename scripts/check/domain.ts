import { spawn } from "node:child_process";
import { readdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";

/** `npm run test:domain -- signals`: the tests of one domain, or a few, against the sources. */

const tests = fileURLToPath(new URL("../../tests/", import.meta.url));
const args = process.argv.slice(2);
const wanted = args.filter((one) => !one.startsWith("-"));
const domains = await domainsOf();
const unknown = wanted.filter((name) => !domains.includes(name));

if (args.includes("--help")) {
  console.log(usage());
} else if (wanted.length === 0 || unknown.length > 0) {
  if (unknown.length > 0) console.error(`There are no tests of ${unknown.join(", ")}.\n`);
  console.error(usage());
  process.exitCode = 1;
} else {
  const vitest = fileURLToPath(new URL("../../node_modules/vitest/vitest.mjs", import.meta.url));
  const options = args.filter((one) => one.startsWith("-"));
  const files = wanted.map((name) => `tests/${name}/`);
  // Each process loads the whole application first: a third one costs a domain more than it saves.
  const command = [vitest, "run", "--maxWorkers=2", ...files, ...options];
  const child = spawn(process.execPath, command, { stdio: "inherit" });
  child.once("close", (code) => {
    process.exitCode = code ?? 1;
  });
}

function usage(): string {
  return `Usage: npm run test:domain -- DOMAIN… [OPTION=…]

Runs the tests of a domain against the sources. Arguments with a dash go to vitest (--testNamePattern=recap).

The domains: ${domains.join(", ")}`;
}

/** The folders that hold test files. */
async function domainsOf(): Promise<string[]> {
  const files = await readdir(tests, { recursive: true });
  const folders = files
    .filter((name) => name.endsWith(".test.ts"))
    .map((name) => name.split(/[\\/]/)[0] ?? "");
  return [...new Set(folders)].filter((name) => !name.endsWith(".ts") && name !== "long").sort();
}
