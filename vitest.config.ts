import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    // Much of the suite waits for a chain or a clock: two files at a time, also where there is one core to spare.
    maxWorkers: 2,
    projects: [
      {
        test: {
          name: "convex",
          environment: "edge-runtime",
          include: ["tests/**/*.test.ts"],
          exclude: ["tests/**/*.node.test.ts", "tests/clients/**"],
          testTimeout: 60_000,
        },
      },
      {
        test: {
          name: "node",
          environment: "node",
          include: ["tests/**/*.node.test.ts"],
          exclude: ["tests/clients/**"],
          // They end what hangs, and nothing else.
          testTimeout: 600_000,
          hookTimeout: 600_000,
        },
      },
    ],
  },
});
