import { AsyncLocalStorage } from "node:async_hooks";
import { describe, expect, vi } from "vitest";
import { deadlines } from "../../convex/platform/outside/deadlines";
import { buildProofText } from "../../convex/payments/proofs";
import { send, together } from "../chain/support";
import { chain, useChain } from "../support/chain/chain";
import { deadlineByHand, type WalletApp } from "../support/chain/walletApp";
import { counting, intercept, silence } from "../support/outside";
import { until } from "../support/waits";
import { timePassing, useTime } from "../invariants/harness";
import {
  authorize,
  buy,
  buyWith,
  cancellationCall,
  devAccount,
  now,
  ONE,
  payer,
  PLATFORM,
  received,
  relayer,
  settlementCall,
  test,
  transfer,
  versionOne,
  versionTwo,
  withFacilitator,
} from "./payer";

/** Looking a proof up: who waits for it, what is never final at once, and what is told. */

useChain();
useTime();

/** Each answer ends its request's own context, as on the platform: what is asked from there afterwards never leaves. */
function cuttingContexts(app: WalletApp): WalletApp {
  const request = new AsyncLocalStorage<{ isOver: boolean }>();
  const setTimer = globalThis.setTimeout;
  // Scheduled functions have contexts of their own.
  vi.stubGlobal("setTimeout", (work: () => void, ms?: number) => setTimer(() => request.exit(work), ms));
  intercept((_call, pass) => (request.getStore()?.isOver === true ? silence() : pass()));
  const post: WalletApp["post"] = (...given) => {
    const own = { isOver: false };
    return request.run(own, async () => {
      const answer = await app.post(...given);
      own.isOver = true;
      return answer;
    });
  };
  return { ...app, post };
}

describe("a look that takes longer than a caller waits", () => {
  for (const [form, again] of [
    ["a signed payment", "meanwhile"],
    ["a signed payment", "afterwards"],
    ["a hash", "meanwhile"],
    ["a hash", "afterwards"],
  ] as const)
    test(`${form}: goes on, and a second call ${again} has the report`, async ({ app }) => {
      const cut = cuttingContexts(app);
      const from = await payer(chain);
      const proof =
        form === "a hash" ? { "X-PAYMENT": await transfer(chain, from) } : versionTwo(await authorize(from));
      let isSlow = true;
      const held: (() => void)[] = [];
      intercept(async ({ body }, pass) => {
        if (isSlow && body.includes('"jsonrpc"')) await new Promise<void>((go) => held.push(go));
        return pass();
      });
      const moment = deadlineByHand("look");
      const patience = deadlineByHand("caller");
      const first = buy(cut, proof, { token: "BTC" });
      await until(() => held.length > 0);
      const asked = held.length;
      moment();
      // The look goes on in work of its own.
      await until(() => held.length > asked);
      patience();
      const late = await first;
      expect([late.status, late.body.error]).toEqual([
        502,
        "The chain RPC did not answer in time: send the same proof again shortly",
      ]);
      deadlines.caller = deadlines.look = 3_600_000;
      const ask = () => buy(cut, proof, { token: "BTC" });
      const second = again === "meanwhile" ? ask() : null;
      isSlow = false;
      for (const go of held) go();
      if (second === null) {
        // Nobody asks for it.
        await app.settle();
        expect(await app.rows("paymentClaims")).toMatchObject([{ state: "delivered" }]);
      }
      expect((await (second ?? ask())).status).toBe(200);
      expect(await app.rows("paymentClaims")).toHaveLength(1);
      await app.settle();
      expect(await app.rows("work")).toEqual([]);
    });
});

test("every redemption waits in a slot: the thirty-first of an address is told so, and takes nothing", async ({
  app,
}) => {
  const from = await payer(chain);
  const cancelled = versionOne(await authorize(from));
  const signed = await authorize(from, { validBefore: now() + 900n });
  await send(chain, await payer(chain), await cancellationCall(from, signed));
  const late = deadlineByHand("unknownHash");
  const statuses: number[] = [];
  const ask = async (i: number) => {
    const { status } = await buy(app, versionOne(signed), { userId: `u${i}` }, { ip: "198.51.100.5" });
    statuses.push(status);
  };
  const all = Array.from({ length: 40 }, (_, i) => ask(i));
  await until(() => statuses.length >= 10);
  expect(statuses).toEqual(Array.from({ length: 10 }, () => 429));
  late();
  await Promise.all(all);
  expect(statuses.filter((status) => status === 402)).toHaveLength(30);
  expect((await buy(app, cancelled, {}, { ip: "198.51.100.5" })).status).toBe(200);
});

test("unpaid looks at invented tokens are 402 throughout; beyond a count the exchange is not asked", async ({
  app,
}) => {
  const asked = counting("");
  const tell = (i: number) => app.post("/agent/research/paid", { token: `QZX${i}` }, { ip: "198.51.100.8" });
  const errors = new Set<boolean>();
  for (let i = 0; i < 20; i++) expect((await tell(i)).status).toBe(402);
  const before = asked();
  for (let i = 20; i < 60; i++) {
    const { status, body } = await tell(i);
    expect(status).toBe(402);
    errors.add(/No source knows/.test(String(body.error)));
  }
  // One more may be free by then on a slow machine.
  expect([asked() - before <= 6, errors.has(false)]).toEqual([true, true]);
  expect((await app.post("/agent/research/paid", {}, { ip: "198.51.100.8" })).status).toBe(402);
});

test("while the relayer has signed elsewhere, a payment has one order, and its caller is told why", async ({
  app,
}) => {
  const pass = timePassing(app);
  expect((await buy(app, versionTwo(await authorize(await payer(chain))))).status).toBe(200);
  await send(chain, relayer, { to: devAccount(9).address, value: 1n });
  const before = (await app.rows("orders")).length;
  const proof = versionTwo(await authorize(await payer(chain), { validBefore: now() + 600n }));
  const moved = await received(async () => {
    for (let i = 0; i < 3; i++) {
      const { status, body } = await buy(app, proof);
      expect([status, body.error]).toEqual([
        500,
        expect.stringMatching(
          /relayer signs nothing.*transactions of this wallet that this service does not/,
        ),
      ]);
    }
    await pass(3);
  });
  expect([(await app.rows("orders")).length - before, moved]).toEqual([1, 0n]);
  // The claim ends with its authorization.
  await pass(30);
  expect((await buy(app, proof)).body.reason).toBe("invalid_exact_evm_payload_authorization_valid_before");
});

describe("a facilitator", () => {
  test("is asked once an attempt, and never for what is valid beyond a day", async () => {
    let asked = 0;
    const app = withFacilitator(() => {
      asked++;
      return Promise.resolve(Response.json({ success: true }));
    });
    const pass = timePassing(app);
    deadlines.transaction = 800;
    const endless = await buy(
      app,
      versionOne(await authorize(await payer(chain), { validBefore: 2n ** 200n })),
    );
    expect([endless.status, endless.body.reason]).toEqual([
      402,
      "invalid_exact_evm_payload_authorization_valid_before",
    ]);
    const day = versionOne(await authorize(await payer(chain), { validBefore: now() + 90_000n }));
    expect([(await buy(app, day)).status, asked]).toEqual([402, 0]);

    // It says that it has paid, and has not; then the payer empties the wallet.
    const from = await payer(chain, ONE);
    const signed = await authorize(from);
    expect((await buy(app, versionOne(signed))).status).toBe(502);
    expect(asked).toBe(1);
    await transfer(chain, from, { to: devAccount(7).address });
    await pass(20);
    expect((await buy(app, versionOne(signed))).status).toBe(402);
    expect([await app.rows("work"), asked <= 3]).toEqual([[], true]);
  });
});

test("a hash that a payer has signed takes this payer's transfer, and no other of the transaction", async ({
  app,
}) => {
  const [poor, rich] = [await payer(chain), await payer(chain)];
  const batch = together([settlementCall(await authorize(rich)), settlementCall(await authorize(poor))]);
  const { transactionHash: txHash } = await send(chain, await payer(chain), batch);
  const redeem = async (userId: string) => {
    const message = buildProofText(txHash, PLATFORM, { userId, focus: "BTC" });
    const proof = JSON.stringify({ txHash, signature: await poor.signMessage({ message }) });
    return buyWith(app, proof, { userId, token: "BTC" });
  };
  expect((await redeem("alice")).status).toBe(200);
  const second = await redeem("bob");
  expect([second.status, second.body.reason]).toEqual([402, "payment_already_used"]);
  const [claim] = await app.rows("paymentClaims");
  expect(claim?.payer).toBe(poor.address.toLowerCase());
});

/** Anybody sees the settlement's hash as soon as a block has it. */
test("a thief who shows the hash of a settlement before its claim goes on gets nothing", async ({ app }) => {
  let thief: Awaited<ReturnType<typeof buyWith>> | undefined;
  let isBusy = false;
  intercept(async ({ body }, pass) => {
    const [, hash] = /eth_getTransactionReceipt","params":\["(0x[0-9a-f]{64})"/.exec(body) ?? [];
    if (hash !== undefined && !isBusy && thief === undefined) {
      isBusy = true;
      const isMined = (await chain.rpc("eth_getTransactionReceipt", [hash])) !== null;
      if (isMined) thief = await buyWith(app, hash, { token: "ETH" });
      isBusy = false;
    }
    return pass();
  });
  const mine = await buy(app, versionTwo(await authorize(await payer(chain))), { token: "BTC" });
  expect([thief?.status, thief?.body.reason]).toEqual([402, "payment_already_used"]);
  expect([mine.status, mine.body.token]).toEqual([200, "BTC"]);
});
