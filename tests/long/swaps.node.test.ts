import { expect } from "vitest";
import { playDishonestSwaps } from "../hostile/swaps/dishonestSwaps";
import { chain, useChain, test } from "../support/chain/chain";

/** Swaps by the thousand whose quotes lie. One that fails belongs to its seed: `--seed N --rounds 1` repeats it alone. */

const seed = Number(process.env["LONG_SEED"] ?? 1);
const rounds = Number(process.env["LONG_ROUNDS"] ?? 2_000);

useChain();

test("dishonest quotes, each another lie: not one unit leaves beyond the order", async ({ annotate }) => {
  const played = await playDishonestSwaps(chain, { seed, rounds });
  const swapped = played.filter((round) => round.swapped).length;
  const through = played.filter(({ found }) => found !== null);
  await annotate(
    `${played.length} quotes: ${swapped} were carried out, ${played.length - swapped} refused, ` +
      `${through.length} moved more than was ordered`,
  );
  expect(through).toEqual([]);
  expect(swapped).toBeGreaterThan(0);
});
