import { expect } from "vitest";
import { chain, useChain, test } from "../support/chain";
import "./meta";
import { starve, told } from "./starvation";

/** A sample; `npm run test:hostile` has the whole attack. */

useChain();

test("whatever strangers ask for, what people and the clock are owed keeps its deadlines", async ({
  task,
}) => {
  const outcome = await starve(chain, { rate: 10, seconds: 20, addresses: 1_000, seed: 1 });
  const missed = outcome.owed.filter(({ delayMs, deadlineMs }) => !(delayMs <= deadlineMs));
  Object.assign(task.meta, { tries: outcome.tries, through: missed.length, figures: told(outcome) });
  expect(missed).toEqual([]);
  expect(outcome.owed).toHaveLength(8);
  expect(outcome.statuses.get(500) ?? 0).toBe(0);
  expect(outcome.spentUsd).toBeLessThanOrEqual(0.4 * outcome.limitUsd);
});
