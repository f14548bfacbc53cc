import { expect } from "vitest";
import { chain, useChain, test } from "../../support/chain/chain";
import "../meta";
import { playReorgs } from "./reorgs";

/** A few of the rounds of `npm run test:long -- reorgs`. */

useChain();

test("dropped blocks, stuck fees, lost answers and lying nonces: all move again by themselves, nothing twice, nothing lost", async ({
  task,
}) => {
  const rounds = await playReorgs(chain, { seed: 3, rounds: 2 });
  task.meta.tries = rounds.reduce((sum, { orders }) => sum + orders, 0);
  expect(rounds.filter(({ found }) => found.length > 0)).toEqual([]);
  // The chain is tormented.
  expect(rounds.some(({ done }) => done.includes("reorg"))).toBe(true);
});
