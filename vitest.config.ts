import { defineConfig, type TestProjectInlineConfiguration } from "vitest/config";

/** The tests against the sources, for who works on them. `npm test` runs `vitest.bundle.config.ts`. */

/** They start a service's own packages, or last for minutes (`npm run test:long`). */
export const ELSEWHERE = ["tests/clients/**", "tests/long/**"];

/**
 * What a function may ask of its platform is the host's matter and `npm run check:deploy`'s: a runtime that imitates more
 * of it costs a quarter of the time and finds nothing else.
 */
export const everywhere = {
  environment: "node",
  // Modules are loaded once for all files of a process.
  isolate: false,
  // The simulated world makes many short-lived objects: more room for the young ones, fewer collections.
  execArgv: ["--max-semi-space-size=64"],
  // They end what hangs, and nothing else.
  testTimeout: 600_000,
  hookTimeout: 600_000,
  // A failure that happened once has to tell all that it saw.
  chaiConfig: { truncateThreshold: 0 },
} satisfies TestProjectInlineConfiguration["test"];

export default defineConfig({
  test: {
    ...everywhere,
    // Much of the suite waits, for a chain or a process: three files at a time keep two cores at work.
    maxWorkers: 3,
    include: ["tests/**/*.test.ts", "scripts/host/*.test.ts"],
    exclude: ELSEWHERE,
    // What a run has made of the sources serves the next one: half of a domain's start.
    experimental: { fsModuleCache: true },
  },
});
