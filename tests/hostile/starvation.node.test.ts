import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import type { Chain } from "../../scripts/stack/chain";
import { closeApp } from "../support/world";
import { startTestChain } from "../support/walletApp";
import { starve } from "./starvation";

/** A sample; `npm run test:hostile` has the whole attack. */

let chain: Chain;
beforeAll(async () => {
  chain = await startTestChain();
});
afterAll(() => chain.stop());
afterEach(closeApp);

test("whatever strangers ask for, what people and the clock are owed keeps its deadlines", async () => {
  const { owed, statuses, spentUsd, limitUsd } = await starve(chain, {
    rate: 10,
    seconds: 60,
    addresses: 1_000,
    seed: 1,
  });
  expect(owed.filter(({ delayMs, deadlineMs }) => delayMs > deadlineMs)).toEqual([]);
  expect(owed.map(({ what }) => what).sort()).toEqual([]);
  expect([...statuses]).toEqual([]);
  expect(spentUsd).toBeLessThanOrEqual(limitUsd);
});
