import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
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
          testTimeout: 120_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});
