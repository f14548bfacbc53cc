import { expect } from "vitest";
import { deadlines } from "../../convex/platform/outside/deadlines";
import type { Random } from "../../scripts/standins/random";
import { authorize, buy, createPaidApp, now, ONE, payer, PLATFORM, versionTwo } from "../payments/payer";
import { chain, ETHER, nonceOf, test, useChain, usdcOf } from "../support/chain/chain";
import { answering, miscounting } from "../support/chain/rpc";
import { freshAddress, unreachDeadlines, type WalletApp } from "../support/chain/walletApp";
import { intercept } from "../support/outside";
import { closeApp, type Answer } from "../support/world";
import { madeUpReceipt, timePassing, useTime, walks } from "./harness";

/**
 * A chain at its worst: blocks are dropped, up to eight at a time, fees outgrow what is on its way, answers are lost
 * before or behind their effect, nodes lie about nonces and tell of blocks of a fork, while users send and buy. Then the
 * chain is honest and time passes: every order has moved what its answer says, once, and every wallet goes on.
 */

useChain();
useTime();

const DEEPEST = 8;
const MOST_REPEATS = 16;

type Deed = { name: string; begin: () => Promise<(() => void) | void> };

function deedsOf(chance: Random, pass: (minutes: number) => Promise<void>): Deed[] {
  const lost = () =>
    intercept(async ({ body }, on) => {
      if (!body.includes("eth_sendRawTransaction")) return on();
      // Half of them have arrived.
      if (chance.between(0, 1) < 0.5) await on();
      throw new TypeError("The connection was lost");
    });
  const forked = (status: "0x0" | "0x1") => () =>
    answering(({ method, params }) =>
      method === "eth_getTransactionReceipt" ? { result: madeUpReceipt(params[0], 2, status) } : null,
    );
  const unseen = () =>
    answering(({ method }) =>
      /^eth_getTransaction(?:Receipt|ByHash)$/.test(method) ? { result: null } : null,
    );
  const dear = async () => {
    // Two to four times what anything offers.
    const fee = BigInt(chance.whole(5, 12)) * 10n ** 9n;
    await chain.rpc("anvil_setNextBlockBaseFeePerGas", [`0x${fee.toString(16)}`]);
    await chain.miner.mine();
  };
  const reorg = async () => {
    await chain.rpc("anvil_reorg", [chance.whole(1, DEEPEST), []]);
    await chain.feeds.tick();
  };
  const lie = (tell: () => () => void) => () => Promise.resolve(tell());
  return [
    { name: "mine", begin: () => chain.miner.mine() },
    { name: "reorg", begin: reorg },
    { name: "reorg", begin: reorg },
    { name: "dear", begin: dear },
    { name: "time", begin: () => pass(1) },
    { name: "lost answers", begin: lie(lost) },
    { name: "unseen", begin: lie(unseen) },
    { name: "mined in a fork", begin: lie(forked("0x1")) },
    { name: "failed in a fork", begin: lie(forked("0x0")) },
    { name: "count too high", begin: lie(() => miscounting(() => chance.pick([1, 2, 3, 5_000]))) },
    { name: "count too low", begin: lie(() => miscounting(() => 0)) },
  ];
}

type Order = { what: string; ask: () => Promise<Answer>; to: `0x${string}` | null; amount: bigint };

let callers = 0;
/** Everybody's own address. */
const from = () => ({ ip: `198.51.100.${(callers = (callers + 1) % 250)}` });

function sendOf(app: WalletApp, userId: string, key: string, amount: bigint): Order {
  const to = freshAddress();
  const body = { userId, toAddress: to, token: "USDC", amount: String(amount) };
  const init = { headers: { "Idempotency-Key": key }, ...from() };
  return { what: `${userId} ${key}`, ask: () => app.post("/mcp/defi/send", body, init), to, amount };
}

async function reportOf(app: WalletApp, key: string): Promise<Order> {
  const proof = versionTwo(await authorize(await payer(chain, ONE), { validBefore: now() + 80_000n }));
  return { what: key, ask: () => buy(app, proof, {}, from()), to: null, amount: ONE };
}

/** The same request again, until its outcome is told. */
async function outcomeOf({ what, ask, to }: Order, pass: (minutes: number) => Promise<void>) {
  for (let repeat = 0; repeat < MOST_REPEATS; repeat++) {
    const { status, body } = await ask();
    if (status === 200 && (to === null || body.status === "confirmed")) return true;
    // A payment that the chain refused, and nothing else, is over for good.
    if (to === null && status === 402) return false;
    await pass(1);
  }
  throw new Error(`${what} comes to no end`);
}

test("dropped blocks, forks, stuck fees, lost answers and lies lose nothing and pay nothing twice", async () => {
  const done = new Set<string>();
  await walks("reorgs", async (chance, seed) => {
    const app = createPaidApp(chain);
    const pass = timePassing(app);
    const users = [
      `one-of-walk-${seed}-${crypto.randomUUID()}`,
      `two-of-walk-${seed}-${crypto.randomUUID()}`,
    ];
    const owners: `0x${string}`[] = [];
    for (const user of users) owners.push(await app.fundedWallet(user, { ETH: ETHER, USDC: 100n * ONE }));
    const orders = [
      sendOf(app, users[0] ?? "", "first", 1n * ONE),
      sendOf(app, users[0] ?? "", "second", 2n * ONE),
      sendOf(app, users[1] ?? "", "third", 3n * ONE),
      await reportOf(app, "a report"),
      await reportOf(app, "another report"),
    ];
    // What came before stays.
    for (let block = 0; block <= DEEPEST; block++) await chain.miner.mine();
    const before = await usdcOf(PLATFORM);
    await chain.miner.pause();
    deadlines.receipt = 200;
    deadlines.transaction = 1_000;
    deadlines.caller = 2_000;
    const asked = Promise.allSettled(orders.map(({ ask }) => ask()));
    const deeds = deedsOf(chance, pass);
    for (let step = 0; step < 10; step++) {
      const { name, begin } = chance.pick(deeds);
      done.add(name);
      const honest = await begin();
      if (honest !== undefined) await pass(1);
      honest?.();
    }
    await asked;
    chain.miner.resume();
    await chain.rpc("anvil_setNextBlockBaseFeePerGas", ["0x1"]);
    await chain.miner.mine();
    await pass(2);
    unreachDeadlines();
    // What is held up is asked for again.
    deadlines.receipt = deadlines.transaction = deadlines.caller = 5_000;
    const bought: bigint[] = [];
    for (const order of orders) {
      const isDone = await outcomeOf(order, pass);
      if (order.to === null && isDone) bought.push(order.amount);
    }
    for (const { what, to, amount } of orders)
      if (to !== null) expect([what, await usdcOf(to)]).toEqual([what, amount]);
    expect(await Promise.all(owners.map(usdcOf))).toEqual([97n * ONE, 97n * ONE]);
    expect(bought).toHaveLength(2);
    expect((await usdcOf(PLATFORM)) - before).toBe(2n * ONE);
    // Every wallet goes on: no nonce is open.
    for (const user of users)
      expect((await sendOf(app, user, "next", ONE).ask()).body.status).toBe("confirmed");
    for (const owner of owners) expect(await nonceOf(owner)).toBeLessThanOrEqual(3 + 1);
    closeApp();
  });
  expect(done).toContain("reorg");
});
