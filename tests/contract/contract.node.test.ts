import { expect, test } from "vitest";
import { contract } from "../../scripts/accept/contract";
import { chain, useChain } from "../support/chain/chain";
import { outcomeHere } from "./world";

/** The contract, row by row, as a client meets it that has read nothing else and calls itself `alice`. */

useChain();

test("every row has an id of its own", () => {
  const ids = contract.map(({ id }) => id);
  expect(ids).toEqual([...new Set(ids)]);
});

/** The others need processes, and deadlines that pass: `npm run accept` checks them at the stack. */
const here = contract.filter(({ needs = [] }) => !needs.includes("proxy") && !needs.includes("deadlines"));

test.for(here)("$id", async (row) => {
  // The feeds' last prices may be of another row's simulated day.
  if (row.needs?.includes("chain") === true) await chain.feeds.tick();
  const { outcome, why } = await outcomeHere(row);
  expect([outcome, why]).toEqual(["holds", null]);
});
