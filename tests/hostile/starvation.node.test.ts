import { expect } from "vitest";
import { chain, isMined, useChain, test } from "../support/chain/chain";
import { until } from "../support/waits";
import "./meta";
import { starve, told } from "./starvation";

/** A sample; `npm run test:hostile` has the whole attack. */

useChain();

test("whatever strangers ask for, what people and the clock are owed keeps its deadlines", async ({
  task,
}) => {
  const outcome = await starve(chain, { rate: 10, seconds: 10, addresses: 1_000, seed: 1 });
  const missed = outcome.owed.filter(({ delayMs, deadlineMs }) => !(delayMs <= deadlineMs));
  Object.assign(task.meta, { tries: outcome.tries, through: missed.length, figures: told(outcome) });
  expect(missed).toEqual([]);
  expect(outcome.owed).toHaveLength(8);
  expect(outcome.statuses.get(500) ?? 0).toBe(0);
  expect(outcome.spentUsd).toBeLessThanOrEqual(0.4 * outcome.limitUsd);
});

test("two orders of one address wait beside one another, whoever else waits; what is refused is told as its own", async ({
  app,
}) => {
  const users = Array.from({ length: 9 }, (_, n) => `number-${n}-who-orders`);
  for (const userId of users) await app.fundedWallet(userId, { ETH: 10n ** 18n });
  await chain.miner.pause();
  const order = (userId: string, address: number) =>
    app.post(
      "/mcp/defi/send",
      { userId, token: "ETH", amount: "1", toAddress: RECIPIENT },
      { ip: `192.0.2.${address}` },
    );
  // Six of six addresses, and two of a seventh.
  const waiting = users.slice(0, 8).map((userId, n) => order(userId, Math.min(n, 6)));
  await until(async () => (await app.rows("crowdPlaces")).length === waiting.length);
  const refused = await order(users[8] ?? "", 6);
  expect([refused.status, refused.body.error]).toEqual([
    429,
    expect.stringContaining("your network address"),
  ]);
  await until(async () => (await app.rows("orders")).every(({ state }) => state === "signed"));
  chain.miner.resume();
  for (const { status, body } of await Promise.all(waiting)) {
    expect([status, body.status]).toEqual([200, "confirmed"]);
    expect(await isMined(String(body.txHash))).toBe(true);
  }
});

const RECIPIENT = `0x${"b0".repeat(20)}`;
