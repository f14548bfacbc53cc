import { expect, test } from "vitest";
import { contract, faultsOf, knownDifferences } from "../../scripts/accept/contract";
import { chain, useChain } from "../support/chain/chain";
import { outcomeHere } from "./world";

/** The contract, row by row, as a client meets it that has read nothing else and calls itself `alice`. */

useChain();

test("every row has an id of its own, and every known difference is a row", () => {
  const ids = contract.map(({ id }) => id);
  expect(ids).toEqual([...new Set(ids)]);
  expect(ids).toEqual(expect.arrayContaining(Object.keys(knownDifferences)));
});

/** The others need processes, and deadlines that pass: `npm run accept` checks them at the stack. */
const here = contract.filter(({ needs = [] }) => !needs.includes("proxy") && !needs.includes("deadlines"));

test.for(here)("$id", async (row) => {
  // The feeds' last prices may be of another row's simulated day.
  if (row.needs?.includes("chain") === true) await chain.feeds.tick();
  const outcome = await outcomeHere(row);
  expect(outcome.outcome, outcome.why ?? "").not.toBe("skipped");
  expect(faultsOf([outcome])).toEqual([]);
});
