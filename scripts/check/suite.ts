import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as z from "zod";

export type Suite = { passed: number; failed: number; ms: number };

const results = z.object({ numPassedTests: z.number(), numFailedTests: z.number() });

/** Runs the tests once, against the bundle; without one, against the sources. */
export async function runSuite(hasBundle: boolean): Promise<Suite> {
  const startedAt = performance.now();
  const folder = await mkdtemp(join(tmpdir(), "suite-"));
  try {
    const file = join(folder, "results.json");
    const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${file}`];
    const config = ["--config", hasBundle ? "vitest.bundle.config.ts" : "vitest.config.ts"];
    const code = await exitCodeOf(["--no-install", "vitest", "run", ...config, ...reporters]);
    const text = await readFile(file, "utf8").catch(() => null);
    const counts = text === null ? { numPassedTests: 0, numFailedTests: 0 } : results.parse(JSON.parse(text));
    return {
      passed: counts.numPassedTests,
      // A test file that does not load has no failed test of its own.
      failed: code === 0 ? 0 : Math.max(1, counts.numFailedTests),
      ms: performance.now() - startedAt,
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function exitCodeOf(args: readonly string[]): Promise<number | null> {
  return new Promise((resolve, reject) => {
    const child = spawn("npx", args, { stdio: ["ignore", "inherit", "inherit"] });
    child.once("error", reject);
    child.once("close", resolve);
  });
}
