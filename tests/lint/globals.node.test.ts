import { expect, test } from "vitest";
import { missingGlobals } from "../../scripts/runtime/globals";

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
  expect((await missingGlobals(modules)).sort()).toEqual([
    "rooms/missing.js: 'require' is not defined on the platform",
    "rooms/missing.js: 'setImmediate' is not defined on the platform",
  ]);
});
