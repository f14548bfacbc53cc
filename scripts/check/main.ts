/**
 * `npm test`: everything that must hold. The steps, two at a time; then the tests, the HTTP suite among them against the
 * very bundle that the rehearsal made. Its last line is `N passed, N failed` with the test suite's own counts; a failed
 * step counts as one more failure.
 */
import { parseArgs } from "node:util";
import { figure } from "../bench/table";
import { bold, dim, green, red } from "../terminal";
import { runSteps, type Done, type Step } from "./steps";
import { runSuite } from "./suite";

const USAGE = `Usage: npm test

Formatting, lint, types, generated code and a rehearsed deployment, two at a time; then the tests. Each step alone:
npm run check:format, check:lint, check:types, check:codegen, check:deploy. The tests of one domain alone:
npm run test:domain -- signals. The long ones: npm run test:long.`;

const REHEARSAL = "deploy rehearsal";

/** The longest first, so that both cores are busy to the end. */
const STEPS: readonly Step[] = [
  { name: "lint", script: "check:lint" },
  { name: "formatting", script: "check:format" },
  { name: REHEARSAL, script: "check:deploy" },
  { name: "types", script: "check:types" },
  { name: "generated code", script: "check:codegen" },
];

const { values } = parseArgs({ options: { help: { type: "boolean" } } });
if (values.help === true) {
  console.log(USAGE);
  process.exit(0);
}

const startedAt = performance.now();
const done = await runSteps(STEPS);
const hasBundle = done.some(({ name, passed }) => name === REHEARSAL && passed);
const suite = await runSuite(hasBundle);
done.push({ name: "tests", passed: suite.failed === 0, ms: suite.ms });

console.log(`\n${bold("What took how long")}`);
for (const one of done) console.log(lineOf(one));
console.log(dim(`  ${"in all".padEnd(20)}${seconds(performance.now() - startedAt)}`));
if (!hasBundle) console.log(red("\nThe HTTP suite was not run: there is no bundle to run it against"));
const failedSteps = done.filter(({ name, passed }) => !passed && name !== "tests");
const failed = suite.failed + failedSteps.length;
console.log(`\n${suite.passed} passed, ${failed} failed`);
process.exit(failed > 0 || suite.passed === 0 ? 1 : 0);

function lineOf({ name, passed, ms }: Done): string {
  return `  ${name.padEnd(20)}${seconds(ms)}  ${passed ? green("passed") : red("FAILED")}`;
}

function seconds(ms: number): string {
  return `${figure(ms / 1_000, 1)} s`.padStart(10);
}
