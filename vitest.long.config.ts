import { defineConfig } from "vitest/config";
import { everywhere } from "./vitest.config.ts";

/** The tests that last for minutes, one file at a time: `npm run test:long` runs them part by part. */

export default defineConfig({
  test: {
    ...everywhere,
    maxWorkers: 1,
    include: ["tests/long/**/*.test.ts", "tests/wallets/crashes.node.test.ts"],
    testTimeout: 1_200_000,
  },
});
