import { describe, expect } from "vitest";
import * as z from "zod";
import { deadlines } from "../../convex/platform/outside/deadlines";
import { clientOf } from "../chain/support";
import { ETHER, chain, nonceOf, useChain, usdcOf, test } from "../support/chain/chain";
import { answering, miscounting } from "../support/chain/rpc";
import { createWalletApp, freshAddress, unreachDeadlines, type WalletApp } from "../support/chain/walletApp";
import { dieAt } from "../support/crashes";
import { intercept } from "../support/outside";
import { closeApp, type Answer } from "../support/world";
import { DEATHS, handedToTheNode, noncesOf, timePassing, useTime, twiceSigned, walks } from "./harness";

/** Money leaves a wallet only as ordered, once, within its cap; whatever is repeated, dies or lies. */

useChain();
useTime();

const ONE = 1_000_000n;
const CAP = 50n;
/** The cap of an id that nobody has claimed. */
const LIMITED = { env: { UNOWNED_DAILY_USD: String(CAP) } };
/** Long, so that only the id's own cap counts. */
const idOf = () => `owner-${crypto.randomUUID()}`;

type Order = { to: `0x${string}`; amount: bigint; key?: string };

const send = (app: WalletApp, userId: string, { to, amount, key }: Order): Promise<Answer> =>
  app.post(
    "/mcp/defi/send",
    { userId, toAddress: to, token: "USDC", amount: String(amount) },
    key === undefined ? {} : { headers: { "Idempotency-Key": key } },
  );

const isPromised = ({ status, body }: Answer) =>
  status === 200 && (body.status === "confirmed" || body.status === "submitted");

/** The node refuses what it has taken. */
const refusesAndTakes = () =>
  intercept(async ({ body }, pass) => {
    if (!body.includes("eth_sendRawTransaction")) return pass();
    await pass();
    const asked = z.array(z.looseObject({ id: z.number() })).parse(JSON.parse(body));
    const error = { code: -32003, message: "insufficient funds for gas * price + value" };
    return Response.json(asked.map(({ id }) => ({ jsonrpc: "2.0", id, error })));
  });

/** The node has not seen any transaction. */
const unseen = () =>
  answering(({ method }) =>
    /^eth_getTransaction(?:Receipt|ByHash)$/.test(method) ? { result: null } : null,
  );

describe("a walk of orders", () => {
  test("pays each order that it promises once, no other, and never more than the cap", async () => {
    await walks("orders", async (chance) => {
      const app = createWalletApp(chain, LIMITED);
      const given = handedToTheNode();
      const pass = timePassing(app);
      const userId = idOf();
      const owner = await app.fundedWallet(userId, { ETH: ETHER, USDC: 1_000n * ONE });
      const orders: (Order & { promised: boolean })[] = [];
      for (let step = 0; step < 12; step++) {
        const repeated = orders.length > 0 && chance.between(0, 1) < 0.3;
        const order = repeated
          ? chance.pick(orders)
          : {
              to: freshAddress(),
              amount: BigInt(chance.whole(1, 20)) * ONE,
              key: `key-${step}`,
              promised: false,
            };
        if (!repeated) orders.push(order);
        const times = chance.pick([1, 1, 2, 4]);
        const answers = await Promise.all(Array.from({ length: times }, () => send(app, userId, order)));
        order.promised ||= answers.some(isPromised);
        // Other terms under a key move nothing.
        if (chance.between(0, 1) < 0.2) {
          const other = await send(app, userId, { ...order, to: freshAddress() });
          if (order.promised) expect(other.status).toBe(409);
          else expect(isPromised(other)).toBe(false);
        }
      }
      await pass(3);
      const paid = await Promise.all(orders.map(({ to }) => usdcOf(to)));
      expect(paid).toEqual(orders.map(({ promised, amount }) => (promised ? amount : 0n)));
      const sum = paid.reduce((all, one) => all + one, 0n);
      expect(sum).toBeGreaterThan(0n);
      expect(sum).toBeLessThanOrEqual(CAP * ONE);
      expect(await usdcOf(owner)).toBe(1_000n * ONE - sum);
      expect(await nonceOf(owner)).toBe(paid.filter((one) => one > 0n).length);
      expect(await twiceSigned(given(), owner)).toEqual([]);
      closeApp();
    });
  });
});

describe("races", () => {
  test("of 80 orders at once let no more through than the cap", async () => {
    const app = createWalletApp(chain, LIMITED);
    const userId = idOf();
    const owner = await app.fundedWallet(userId, { ETH: ETHER, USDC: 1_000n * ONE });
    const answers = await Promise.all(
      Array.from({ length: 80 }, (_, i) => {
        const order = { userId, toAddress: freshAddress(), token: "USDC", amount: String(20n * ONE) };
        // Each from an address of its own: only the cap, and how many may wait at the same time, refuse any.
        return app.post("/mcp/defi/send", order, { ip: `198.51.100.${i}` });
      }),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 429]));
    expect(answers.filter(isPromised)).toHaveLength(2);
    expect(1_000n * ONE - (await usdcOf(owner))).toBe(40n * ONE);
  });

  test("of one key pay once", async () => {
    const app = createWalletApp(chain, LIMITED);
    const userId = idOf();
    await app.fundedWallet(userId, { ETH: ETHER, USDC: 1_000n * ONE });
    const order = { to: freshAddress(), amount: 5n * ONE, key: "rent" };
    const answers = await Promise.all(Array.from({ length: 12 }, () => send(app, userId, order)));
    expect(answers.some(isPromised)).toBe(true);
    expect(await usdcOf(order.to)).toBe(order.amount);
    const hashes = answers.filter(isPromised).map(({ body }) => body.txHash);
    expect(new Set(hashes).size).toBe(1);
  });
});

describe("orders of one wallet", () => {
  test("are signed one after the other: the next only when the one before has ended", async () => {
    const app = createWalletApp(chain, LIMITED);
    const given = handedToTheNode();
    const userId = idOf();
    const owner = await app.fundedWallet(userId, { ETH: ETHER, USDC: 100n * ONE });
    deadlines.receipt = deadlines.transaction = 300;
    await chain.miner.pause();
    const orders = [1n, 2n, 3n].map((amount) => ({
      to: freshAddress(),
      amount: amount * ONE,
      key: `${amount}`,
    }));
    await Promise.all(orders.map((order) => send(app, userId, order)));
    expect(new Set(await noncesOf(given(), owner)).size).toBe(1);
    chain.miner.resume();
    unreachDeadlines();
    for (const order of orders) expect(isPromised(await send(app, userId, order))).toBe(true);
    expect(new Set(await noncesOf(given(), owner)).size).toBe(3);
    for (const { to, amount } of orders) expect(await usdcOf(to)).toBe(amount);
  });
});

/** What is ordered, of which 3 USDC leave the wallet; and how often it dies at least. */
const ORDERED = [
  ["a send", 2, "/mcp/defi/send", () => ({ toAddress: freshAddress(), token: "USDC" })],
  ["a swap with an approval", 3, "/mcp/defi/swap", () => ({ fromToken: "USDC", toToken: "WETH" })],
] as const;

describe.each(ORDERED)("a death at each call of %s", (_what, least, path, termsOf) => {
  test.each(DEATHS)("%s its effect has it done at most once", async (moment, first, step) => {
    let died = 0;
    let moved = 0;
    for (let n = first; ; n += step) {
      const app = createWalletApp(chain, LIMITED);
      const given = handedToTheNode();
      const pass = timePassing(app);
      const userId = idOf();
      const owner = await app.fundedWallet(userId, { ETH: ETHER, USDC: 100n * ONE });
      const terms = { userId, amount: String(3n * ONE), ...termsOf() };
      const order = () => app.post(path, terms, { headers: { "Idempotency-Key": "the-one" } });
      const death = dieAt(n, moment);
      const reached = await Promise.race([death.dead, order().then(() => false)]);
      death.revive();
      if (!reached) {
        closeApp();
        break;
      }
      died++;
      // Long enough for what a dead process held.
      await pass(3);
      const after = 100n * ONE - (await usdcOf(owner));
      expect([0n, 3n * ONE]).toContain(after);
      // The same order again tells, or does, what was ordered; and once.
      const again = await order();
      await pass(1);
      const gone = 100n * ONE - (await usdcOf(owner));
      const context = `${moment} ${n}: ${again.status} ${JSON.stringify(again.body)}`;
      expect([context, gone]).toEqual([context, isPromised(again) ? 3n * ONE : 0n]);
      if ("toAddress" in terms) expect([context, await usdcOf(terms.toAddress)]).toEqual([context, gone]);
      expect([context, await twiceSigned(given(), owner)]).toEqual([context, []]);
      // The wallet goes on: no nonce is missing, and what failed is not counted.
      const next = await send(app, userId, { to: freshAddress(), amount: 40n * ONE });
      expect([context, next.body.status]).toEqual([context, "confirmed"]);
      if (after > 0n) moved++;
      closeApp();
    }
    expect(died).toBeGreaterThanOrEqual(least);
    expect(moved).toBeGreaterThanOrEqual(1);
  });
});

describe("a node that lies", () => {
  test("about what it took, and about the account, has nothing paid twice or past the cap", async () => {
    const app = createWalletApp(chain, LIMITED);
    const given = handedToTheNode();
    const pass = timePassing(app);
    const userId = idOf();
    const owner = await app.fundedWallet(userId, { ETH: ETHER, USDC: 1_000n * ONE });
    const order = { to: freshAddress(), amount: 40n * ONE, key: "rent" };
    deadlines.receipt = 100;
    await chain.miner.pause();
    const lies = [refusesAndTakes(), unseen()];
    const first = await send(app, userId, order);
    expect(first.body).toMatchObject({ success: true, status: "submitted" });
    const counted = miscounting(() => 1_577);
    await pass(1);
    expect((await send(app, userId, order)).body.txHash).toBe(first.body.txHash);
    expect(isPromised(await send(app, userId, { to: freshAddress(), amount: 40n * ONE }))).toBe(false);
    counted();
    for (const end of lies.toReversed()) end();
    unreachDeadlines();
    chain.miner.resume();
    await chain.miner.mine();
    await pass(3);
    expect([await usdcOf(order.to), await usdcOf(owner)]).toEqual([40n * ONE, 960n * ONE]);
    expect(await clientOf(chain).getTransactionCount({ address: owner })).toBe(1);
    // Another try may have been signed meanwhile: for the same nonce, so that one of them is mined.
    expect(new Set(await twiceSigned(given(), owner)).size).toBeLessThanOrEqual(1);
  });

  test("by refusing all bytes leaves the order unpaid or paid once, and the wallet goes on", async () => {
    const app = createWalletApp(chain, LIMITED);
    const pass = timePassing(app);
    const userId = idOf();
    const owner = await app.fundedWallet(userId, { ETH: ETHER, USDC: 100n * ONE });
    const order = { to: freshAddress(), amount: 40n * ONE, key: "rent" };
    deadlines.receipt = 100;
    const honest = answering(({ method }) =>
      method === "eth_sendRawTransaction"
        ? { error: { code: -32003, message: "insufficient funds for gas * price + value" } }
        : null,
    );
    expect((await send(app, userId, order)).body).toMatchObject({ status: "submitted" });
    await pass(12);
    // It is still counted: the bytes are valid.
    expect(isPromised(await send(app, userId, { to: freshAddress(), amount: 40n * ONE }))).toBe(false);
    honest();
    unreachDeadlines();
    await pass(6);
    const paid = await usdcOf(order.to);
    expect([0n, order.amount]).toContain(paid);
    expect(await usdcOf(owner)).toBe(100n * ONE - paid);
    // What was paid is counted with its fee.
    const { body } = await send(app, userId, { to: freshAddress(), amount: 5n * ONE });
    expect([paid, body.status, body.error]).toEqual([paid, "confirmed", undefined]);
  });
});
