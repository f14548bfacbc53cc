import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import type { Chain } from "../../scripts/stack/chain";
import { startTestChain } from "../support/walletApp";
import { closeApp } from "../support/world";
import "./meta";
import { playReorgs } from "./reorgs";

/** A few of the rounds of `npm run test:long -- reorgs`. */

let chain: Chain;
beforeAll(async () => {
  chain = await startTestChain();
});
afterAll(() => chain.stop());
afterEach(() => {
  chain.miner.resume();
  closeApp();
});

test("dropped blocks, stuck fees, lost answers and lying nonces: all move again by themselves, nothing twice, nothing lost", async ({
  task,
}) => {
  const rounds = await playReorgs(chain, { seed: 1, rounds: 5 });
  task.meta.tries = rounds.reduce((sum, { orders }) => sum + orders, 0);
  expect(rounds.filter(({ found }) => found.length > 0)).toEqual([]);
  // The chain is tormented: something had to be mended.
  expect(rounds.some(({ filled, replaced }) => filled + replaced > 0)).toBe(true);
});
