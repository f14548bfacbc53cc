/**
 * `npm test`: everything that must hold, one step after another: formatting, lint, types, generated code, tests.
 * Its last line is `N passed, N failed` with the test suite's own counts; a failed step counts as one more failure.
 */
import { spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const STEPS = [
  ["formatting", ["npm", "run", "--silent", "check:format"]],
  ["lint", ["npm", "run", "--silent", "check:lint"]],
  ["types", ["npm", "run", "--silent", "check:types"]],
  ["generated code", ["npm", "run", "--silent", "check:codegen"]],
  ["deploy rehearsal", ["npm", "run", "--silent", "check:deploy"]],
  ["HTTP suite against the bundle", ["npm", "run", "--silent", "check:bundle"]],
];

function run([command, ...args]) {
  const result = spawnSync(command, args, { stdio: ["ignore", "inherit", "inherit"] });
  return result.status === 0;
}

const failedSteps = [];
for (const [name, command] of STEPS) {
  console.log(`\n— ${name}`);
  if (!run(command)) failedSteps.push(name);
}

console.log("\n— tests");
const folder = await mkdtemp(join(tmpdir(), "suite-"));
const outputFile = join(folder, "results.json");
const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${outputFile}`];
const suitePassed = run(["npx", "--no-install", "vitest", "run", ...reporters]);
const counts = await readFile(outputFile, "utf8").then(JSON.parse, () => null);
await rm(folder, { recursive: true, force: true });

const passed = counts?.numPassedTests ?? 0;
// A test file that does not even load has no failed test of its own.
const failedTests = suitePassed ? 0 : Math.max(1, counts?.numFailedTests ?? 0);
const failed = failedTests + failedSteps.length;
if (failedSteps.length > 0) console.log(`\nFailed: ${failedSteps.join(", ")}`);
console.log(`\n${passed} passed, ${failed} failed`);
process.exit(failed > 0 || passed === 0 ? 1 : 0);
