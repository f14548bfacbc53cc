import { expect, onTestFinished, test, vi } from "vitest";
import { findMissingGlobals } from "../../scripts/runtime/globals";
import { runtimeFolder } from "../../scripts/runtime/javascript";

/** What of the check on Convex's own runtime holds without it. */

test("a pushed module names no global that the platform lacks, unless it only looks whether it is there", async () => {
  const sources = {
    fine: "export const one = () => fetch(new URL('https://x'), { signal: AbortSignal.timeout(1) });",
    looks: "export const one = typeof setImmediate === 'function';",
    "rooms/missing": "export const one = () => setImmediate(() => require('x'));",
  };
  const modules = Object.entries(sources).map(([name, source]) => ({
    path: `${name}.js`,
    source,
    environment: "isolate" as const,
  }));
  expect((await findMissingGlobals(modules)).sort()).toEqual([
    "rooms/missing.js: 'require' is not defined on the platform",
    "rooms/missing.js: 'setImmediate' is not defined on the platform",
  ]);
});

test("without Convex's own runtime the check says where to get it", () => {
  onTestFinished(() => void vi.unstubAllEnvs());
  vi.stubEnv("CONVEX_RUNTIME", undefined);
  expect(runtimeFolder).toThrow(
    /CONVEX_RUNTIME to the folder npm-packages\/udf-runtime of a checkout of .* at commit \w+/,
  );
});
