import { spawn } from "node:child_process";
import { stripVTControlCharacters } from "node:util";
import { command, Misuse } from "./command";

/**
 * `npm run check -- [NAME…]`: the named checks, or all but four. `npm test`: the same and the tests, concurrently,
 * because the tests also wait for chains and processes. Its last line is `N passed, N failed`; a failed check counts as
 * one more failure.
 */

const CHECKS: Readonly<Record<string, readonly string[]>> = {
  format: ["oxfmt", "--check"],
  codegen: ["node", "scripts/codegen.mjs", "--check"],
  // Includes the types.
  lint: ["oxlint"],
  platform: ["oxlint", "-c", ".oxlintrc.platform.json", "convex"],
  unused: ["knip", "--no-progress", "--treat-config-hints-as-errors"],
  deploy: ["tsx", "scripts/deploy.ts"],
  // The types as a deployment checks them, in another order than the linter's.
  types: ["tsc", "--noEmit", "--project", "convex"],
  contracts: ["tsx", "scripts/chain/build.ts", "--check"],
  bench: ["tsx", "scripts/bench/main.ts"],
  // Needs Convex's own runtime, which is not part of this repository.
  runtime: [
    "node",
    "--experimental-vm-modules",
    "--no-warnings",
    "--import",
    "tsx",
    "scripts/runtime/main.ts",
  ],
};

/** Run only by name: they are slow, or a test covers them. */
const ASIDE = ["types", "contracts", "runtime", "bench"];

const USAGE = `Usage: npm run check [-- NAME…]    ${Object.keys(CHECKS).join(", ")}
       npm run check -- bench --load USERS,MINUTES
       npm test                         all but types, contracts, runtime and bench, and the tests

npx vitest run tests/signals runs the tests of one room.`;

const about = {
  usage: USAGE,
  flags: { tests: { type: "boolean", default: false }, load: { type: "string" } },
  most: Object.keys(CHECKS).length,
} as const;
await command(about, async ({ values, positionals }) => {
  const startedAt = performance.now();
  const unknown = positionals.find((name) => !Object.hasOwn(CHECKS, name));
  if (unknown !== undefined) throw new Misuse(`There is no check named ${unknown}`);
  const tests = values.tests ? run(["vitest", "run"], true) : null;
  const failed: string[] = [];
  for (const [name, line] of Object.entries(CHECKS)) {
    if (positionals.length === 0 ? ASIDE.includes(name) : !positionals.includes(name)) continue;
    const load = name === "bench" && values.load !== undefined ? ["--load", values.load] : [];
    const { code, output } = await run([...line, ...load], name === "bench");
    if (code !== 0) failed.push(`${name} failed:\n${output}`);
  }
  if (tests === null) {
    for (const one of failed) console.log(one);
    console.log(failed.length === 0 ? "All is well" : `${failed.length} failed`);
    return failed.length === 0 ? 0 : 1;
  }
  const { code, output } = await tests;
  const counts = /Tests\s+(?:(\d+) failed \| )?(\d+) passed/.exec(stripVTControlCharacters(output));
  const [, broken = "0", passed = "0"] = counts ?? [];
  for (const one of failed) console.log(`\n${one}`);
  const failures = failed.length + Math.max(Number(broken), code === 0 ? 0 : 1);
  console.log(`\nIn all ${Math.round((performance.now() - startedAt) / 1_000)} s`);
  console.log(`${passed} passed, ${failures} failed`);
  return failures === 0 && Number(passed) > 0 ? 0 : 1;
});
process.exit();

function run(line: readonly string[], shows: boolean): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn("npx", ["--no-install", ...line], {
      // The type-aware linter is a Go program, which spends a third of its time on avoidable garbage collection.
      env: { ...process.env, GOGC: "400" },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        output += text;
        if (shows) process.stdout.write(text);
      });
    }
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, output }));
  });
}
