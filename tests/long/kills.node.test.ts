import { describe } from "vitest";
import { killRounds } from "../stack/kills";
import { chain, test, useChain } from "../support/chain/chain";

/** `tests/stack/realMoney.node.test.ts` runs a few of these rounds. */

useChain();

/** Rounds of one stack's life: then every order has to end. */
const A_LIFE = 25;

const rounds = Number(process.env.LONG_ROUNDS ?? 100);
const seed = Number(process.env.LONG_SEED ?? 1);
const lives = Array.from({ length: Math.ceil(rounds / A_LIFE) }, (_, life) => {
  return { life: life + 1, rounds: Math.min(A_LIFE, rounds - life * A_LIFE), seed: seed * 1_000 + life };
});

describe("a stack with real money that is killed at random moments", () => {
  test.for(lives)(
    "loses no key and pays nothing twice: life $life, $rounds kills",
    async (life, { annotate }) => {
      const toll = await killRounds(chain, { ...life, settled: true });
      await annotate(
        `${toll.wallets} wallets, ${toll.answered} of ${toll.orders} orders answered with a hash`,
      );
    },
  );
});
