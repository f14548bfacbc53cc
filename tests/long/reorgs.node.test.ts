import { expect } from "vitest";
import { playReorgs } from "../hostile/reorgs/reorgs";
import { chain, useChain, test } from "../support/chain/chain";

/** Hostile chains by the hundred. A round that fails belongs to its seed: `--seed N --rounds 1` repeats it alone. */

const seed = Number(process.env["LONG_SEED"] ?? 1);
const rounds = Number(process.env["LONG_ROUNDS"] ?? 200);

useChain();

test("on a hostile chain all move again by themselves, nothing twice, nothing lost", async ({ annotate }) => {
  const played = await playReorgs(chain, { seed, rounds });
  const sum = (count: (round: (typeof played)[number]) => number) =>
    played.reduce((total, round) => total + count(round), 0);
  const times = (deed: string) => sum(({ done }) => done.filter((one) => one === deed).length);
  const failed = played.filter(({ found }) => found.length > 0);
  await annotate(
    `${played.length} rounds of ${sum(({ orders }) => orders)} orders: ${times("reorg")} reorganisations, ` +
      `${times("dear")} fees beyond all offers, ${times("lose")} times lost answers, ${times("lie")} lies, ` +
      `${times("forget")} pools forgotten; ${sum(({ replaced }) => replaced)} replaced, ` +
      `${failed.length} rounds lost, doubled or stuck`,
  );
  expect(failed).toEqual([]);
});
