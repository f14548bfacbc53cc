import { expect, test } from "vitest";
import { playSequences } from "./invariants";

test("nobody moves more than the nine invariants say, in any order of things", async () => {
  const happened = await playSequences({ runs: 8, seed: 34, every: 4 });
  // The sequences reach what they are about.
  for (const count of Object.values(happened)) expect(count, JSON.stringify(happened)).toBeGreaterThan(0);
});
