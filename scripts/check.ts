import { spawn } from "node:child_process";
import { stripVTControlCharacters } from "node:util";
import { command } from "./command";

/**
 * `npm test`: everything that must hold. The checks that need only the processor run beside the tests, which also wait
 * for chains and processes. Its last line is `N passed, N failed`; a failed check counts as one more failure.
 */

const USAGE = `Usage: npm test

Checks formatting, generated code, lint, types and a rehearsed deployment, and runs the tests. npx vitest run tests/signals
runs the tests of one room.`;

const CHECKS = ["check:format", "check:codegen", "check:lint", "check:unused", "check:deploy"];

await command({ usage: USAGE, flags: {} }, async () => {
  const startedAt = performance.now();
  const tests = run("npx", ["--no-install", "vitest", "run"], true);
  const failed: string[] = [];
  for (const name of CHECKS) {
    const { code, output } = await run("npm", ["run", "--silent", name], false);
    if (code !== 0) failed.push(`${name} failed:\n${output}`);
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

function run(name: string, args: string[], shows: boolean): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(name, args, { stdio: ["ignore", "pipe", "pipe"] });
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
