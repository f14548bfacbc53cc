/**
 * `npm test`: everything that must hold. A rehearsed deployment, then the tests, with the HTTP suite against the bundle
 * of the rehearsal; in parallel with the tests, which wait for chains and processes, the checks that only need the
 * processor. Its last line is `N passed, N failed` with the test suite's own counts; a failed step counts as one more
 * failure.
 */
import { figure } from "../bench/table";
import { command } from "../command";
import { bold, dim, green, red } from "../terminal";
import { runSteps, type Done, type Step } from "./steps";
import { runSuite } from "./suite";

const USAGE = `Usage: npm test

Checks the formatting, the generated code and a rehearsed deployment. Then it runs the tests and, at the same time, the
lint, the types, the platform's own lint and the search for unused code. Each step can be run alone: npm run check:format,
check:codegen, check:deploy, check:lint, check:platform, check:unused. npm run test:domain -- signals runs the tests of one
domain, and npm run test:long runs the long tests.`;

const REHEARSAL = "deploy rehearsal";

const FIRST: readonly Step[] = [
  { name: "formatting", script: "check:format" },
  { name: REHEARSAL, script: "check:deploy" },
  { name: "generated code", script: "check:codegen" },
];

const BESIDE_THE_TESTS: readonly Step[] = [
  // The type checker is a Go program: by default it collects garbage more often than its memory requires.
  { name: "lint and types", script: "check:lint", env: { GOGC: "1000", GOMEMLIMIT: "4GiB" } },
  { name: "platform's lint", script: "check:platform" },
  { name: "nothing unused", script: "check:unused" },
];

await command({ usage: USAGE, flags: {} }, async () => {
  const startedAt = performance.now();
  const first = await runSteps(FIRST, 2);
  const hasBundle = first.some(({ name, passed }) => name === REHEARSAL && passed);
  console.log(
    `\n${bold(`— tests, and at the same time: ${BESIDE_THE_TESTS.map(({ name }) => name).join(", ")}`)}`,
  );
  const [suite, beside] = await Promise.all([runSuite(hasBundle), runSteps(BESIDE_THE_TESTS, 1, true)]);
  const done = [...first, ...beside, { name: "tests", passed: suite.failed === 0, ms: suite.ms }];

  console.log(`\n${bold("How long each step took")}`);
  for (const one of done) console.log(lineOf(one));
  console.log(dim(`  ${"in all".padEnd(20)}${seconds(performance.now() - startedAt)}`));
  if (!hasBundle)
    console.log(red("\nThe tests ran against the sources: there is no bundle to run them against"));
  const failedSteps = done.filter(({ name, passed }) => !passed && name !== "tests");
  const failed = suite.failed + failedSteps.length;
  console.log(`\n${suite.passed} passed, ${failed} failed`);
  return failed > 0 || suite.passed === 0 ? 1 : 0;
});
process.exit();

function lineOf({ name, passed, ms }: Done): string {
  return `  ${name.padEnd(20)}${seconds(ms)}  ${passed ? green("passed") : red("FAILED")}`;
}

function seconds(ms: number): string {
  return `${figure(ms / 1_000, 1)} s`.padStart(10);
}
