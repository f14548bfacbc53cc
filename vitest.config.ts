import { defineConfig, type TestProjectInlineConfiguration } from "vitest/config";

/** The tests against the sources, for who works on them. `npm test` runs `vitest.bundle.config.ts`. */

/** They start a service's own packages, or last for minutes (`npm run test:long`). */
export const ELSEWHERE = ["tests/clients/**", "tests/long/**"];

/** In the runtime of the platform. */
export const convex = {
  environment: "edge-runtime",
  include: ["tests/**/*.test.ts"],
  exclude: ["tests/**/*.node.test.ts", ...ELSEWHERE],
  testTimeout: 300_000,
} satisfies TestProjectInlineConfiguration["test"];

/** In Node: what drives a chain, a process or a stand-in. */
export const node = {
  environment: "node",
  include: ["tests/**/*.node.test.ts"],
  exclude: ELSEWHERE,
  // They end what hangs, and nothing else.
  isolate: false,
  testTimeout: 600_000,
  hookTimeout: 600_000,
} satisfies TestProjectInlineConfiguration["test"];

export default defineConfig({
  test: {
    // Much of the suite waits for a chain or a clock: two files at a time, also where there is one core to spare.
    maxWorkers: 2,
    projects: [{ test: { name: "convex", ...convex } }, { test: { name: "node", ...node } }],
  },
});
