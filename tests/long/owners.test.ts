import { expect, test } from "vitest";
import { figure } from "../../scripts/bench/table";
import { playSequences } from "../owners/invariants";

/** After so many it says how far it is. */
const LEG = 100;

test("nobody moves more than the nine invariants say, in 10,000 sequences", async ({ annotate }) => {
  const runs = Number(process.env.LONG_ROUNDS ?? 10_000);
  const seed = Number(process.env.LONG_SEED ?? 1);
  const sums = { sequences: 0, moved: 0, asked: 0, signed: 0, taps: 0 };
  while (sums.sequences < runs) {
    const leg = {
      runs: Math.min(LEG, runs - sums.sequences),
      seed: seed + sums.sequences,
      every: 100,
    };
    const { moved, asked, signed, taps, sequences } = await playSequences(leg);
    sums.sequences += sequences;
    sums.moved += moved;
    sums.asked += asked;
    sums.signed += signed;
    sums.taps += taps;
    console.log(`${figure(sums.sequences)} of ${figure(runs)} sequences held`);
  }
  const { sequences, asked, taps, moved, signed } = sums;
  await annotate(
    `${figure(sequences)} sequences: ${figure(asked)} questions, ${figure(taps)} decided, ${figure(moved)} orders, ${figure(signed)} signed`,
    "figures",
  );
  expect(moved).toBeGreaterThan(runs / 10);
}, 14_400_000);
