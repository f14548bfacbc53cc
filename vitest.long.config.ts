import { defineConfig } from "vitest/config";
import { convex, node } from "./vitest.config.ts";

/** The tests that last for minutes, one file at a time: `npm run test:long` runs them part by part. */
const CLIENTS = ["tests/clients/**"];
const NODE = ["tests/long/**/*.node.test.ts", "tests/wallets/crashes.node.test.ts"];

export default defineConfig({
  test: {
    maxWorkers: 1,
    projects: [
      {
        test: {
          ...convex,
          name: "convex",
          include: ["tests/long/**/*.test.ts"],
          exclude: [...CLIENTS, ...NODE],
        },
      },
      {
        test: { ...node, name: "node", include: NODE, exclude: CLIENTS, testTimeout: 1_200_000 },
      },
    ],
  },
});
