import { expect } from "vitest";
import "../hostile/meta";
import { starve, told } from "../hostile/starvation";
import { chain, useChain, test } from "../support/chain/chain";

/** The whole attack: 50 requests a second from 1,000 addresses for 10 minutes, on 8 scheduled slots. */

useChain();

const number = (name: string, otherwise: number) => Number(process.env[name] ?? otherwise);

test("50 requests a second from 1,000 addresses for 10 minutes starve nobody", async ({ task }) => {
  const outcome = await starve(chain, {
    rate: number("ATTACK_RATE", 50),
    seconds: number("ATTACK_SECONDS", 600),
    addresses: 1_000,
    seed: number("LONG_SEED", 20_260_105),
  });
  const missed = outcome.owed.filter(({ delayMs, deadlineMs }) => !(delayMs <= deadlineMs));
  Object.assign(task.meta, { tries: outcome.tries, through: missed.length, figures: told(outcome) });
  expect(missed).toEqual([]);
  expect(outcome.owed).toHaveLength(8);
  expect(outcome.spentUsd).toBeLessThanOrEqual(0.4 * outcome.limitUsd);
}, 3_600_000);
