import { expect, test } from "vitest";
import { figure } from "../../scripts/bench/table";
import { playSequences } from "../owners/invariants";

test("nobody moves more than the nine invariants say, in 10,000 sequences", async ({ annotate }) => {
  const runs = Number(process.env.LONG_ROUNDS ?? 10_000);
  const seed = Number(process.env.LONG_SEED ?? 1);
  const { moved, asked, signed, taps } = await playSequences({ runs, seed, every: 100 });
  await annotate(
    `${figure(runs)} sequences: ${figure(asked)} questions, ${figure(taps)} decided, ${figure(moved)} orders, ${figure(signed)} signed`,
    "figures",
  );
  expect(moved).toBeGreaterThan(runs / 10);
}, 14_400_000);
