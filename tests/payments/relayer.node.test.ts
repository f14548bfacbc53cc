import { pad, toHex } from "viem";
import { describe, expect } from "vitest";
import { internal } from "../../convex/_generated/api";
import { until } from "../support/waits";
import { TOKENS } from "../../scripts/chain/addresses";
import { place } from "../hostile/swaps/contracts";
import { chain, isMined, useChain, usdcOf, nonceOf } from "../support/chain/chain";
import { miscounting } from "../support/chain/rpc";
import { deadlineByHand, freshAddress, unreachDeadlines, type WalletApp } from "../support/chain/walletApp";
import {
  authorize,
  buy,
  handedOut,
  ONE,
  payer,
  PLATFORM,
  RELAYER,
  settlementOf,
  stranger,
  versionTwo,
  test,
} from "./payer";

/** One account pays for all signed payments: nothing holds it up for ever, and nobody spends its gas for nothing. */

useChain();

const GWEI = 10n ** 9n;
const received = () => usdcOf(PLATFORM);
const buyOnce = async (app: WalletApp) => buy(app, versionTwo(await authorize(await payer(chain))));

/** A payment that was delivered in a block which is dropped afterwards. */
async function lostPayment(app: WalletApp): Promise<string> {
  const headers = versionTwo(await authorize(await payer(chain)));
  await chain.miner.pause();
  const bought = buy(app, headers);
  await handedOut(app);
  await chain.miner.mine();
  expect((await bought).status).toBe(200);
  await chain.rpc("anvil_reorg", [1, []]);
  await chain.feeds.tick();
  const hash = (await settlementOf(app))?.txHash ?? "";
  expect(await isMined(hash)).toBe(false);
  return hash;
}

describe("a block that is dropped behind a delivered report", () => {
  test("holds up no later payment: both are made, once", async ({ app }) => {
    const before = await received();
    const first = await lostPayment(app);
    chain.miner.resume();
    expect((await buyOnce(app)).status).toBe(200);
    expect([await isMined(first), (await received()) - before]).toEqual([true, 2n * ONE]);
  });
});

describe("a node that lies about the relayer's nonce", () => {
  test("gets no signature for one far beyond what was signed; afterwards payments go on", async ({ app }) => {
    expect((await buyOnce(app)).status).toBe(200);
    const headers = versionTwo(await authorize(await payer(chain)));
    const honest = miscounting(() => 5_000);
    expect((await buy(app, headers)).status).toBe(502);
    honest();
    expect((await buy(app, headers)).status).toBe(200);
  });

  test("by a little leaves a gap, which is filled with nothing", async ({ app }) => {
    expect((await buyOnce(app)).status).toBe(200);
    const mined = await nonceOf(RELAYER);
    const headers = versionTwo(await authorize(await payer(chain)));
    const honest = miscounting(() => mined + 2);
    const bought = buy(app, headers);
    await until(async () => (await settlementOf(app))?.nonce === mined + 2);
    honest();
    expect((await bought).status).toBe(200);
    const fills = (await app.rows("transactions")).filter(({ request }) => request.kind === "fill");
    expect(fills.map(({ nonce }) => nonce)).toEqual([mined, mined + 1]);
  });
});

describe("a node's absurd nonce at the very first payment", () => {
  /**
   * Answers some of the questions for the account's count, numbered from 1, with a nonce of its own making. A payment asks
   * when it is claimed, when it is signed, and then, where the answer is far off, once more.
   */
  const lies = (...which: number[]) => miscounting((asked) => (which.includes(asked) ? 1_577 : null));
  const fills = async (app: WalletApp) =>
    (await app.rows("transactions")).filter(({ request }) => request.kind === "fill");

  test("is not followed where the next answer differs", async ({ app }) => {
    const mined = await nonceOf(RELAYER);
    const headers = versionTwo(await authorize(await payer(chain)));
    lies(2);
    expect((await buy(app, headers)).status).toBe(502);
    expect((await buy(app, headers)).status).toBe(200);
    expect((await settlementOf(app))?.nonce).toBe(mined);
  });

  test("said twice is dropped and signed again by itself; no nonce up to it is paid for, and nobody else waits", async ({
    app,
  }) => {
    const mined = await nonceOf(RELAYER);
    const before = await received();
    const first = versionTwo(await authorize(await payer(chain)));
    lies(2, 3);
    const bought = buy(app, first);
    await until(async () => (await settlementOf(app))?.row.state === "broadcast");
    const { row } = (await settlementOf(app)) ?? fail();
    expect(row.nonce).toBe(1_577);
    // Another's payment comes to stand behind it.
    expect([(await buyOnce(app)).status, (await bought).status]).toEqual([200, 200]);
    expect(await app.row("transactions", row._id)).toMatchObject({
      state: "failed",
      error: "Its nonce was wrong, so the chain could not take it and it was dropped: nothing was moved",
    });
    expect([(await received()) - before, await nonceOf(RELAYER)]).toEqual([2n * ONE, mined + 2]);
    expect(await fills(app)).toEqual([]);
    expect((await app.rows("wallets")).find(({ kind }) => kind === "relayer")?.nextNonce).toBe(mined + 2);
  });

  test("is not dropped at one answer; told too low twice, the true one is signed again and pays once", async ({
    app,
  }) => {
    const mined = (await nonceOf(RELAYER)) + 100;
    await chain.rpc("anvil_setNonce", [RELAYER, toHex(mined)]);
    const before = await received();
    await chain.miner.pause();
    const headers = versionTwo(await authorize(await payer(chain)));
    const giveUp = deadlineByHand("transaction");
    const bought = buy(app, headers);
    await until(async () => (await settlementOf(app))?.row.state === "broadcast");
    const { row } = (await settlementOf(app)) ?? fail();
    expect(row.nonce).toBe(mined);
    giveUp();
    expect((await bought).status).toBe(502);
    unreachDeadlines();
    const check = ({ _id: transactionId } = row) =>
      app.t.action(internal.wallets.transactions.progress.followUp.check, { transactionId });
    const latest = async () => (await app.rows("transactions")).at(-1) ?? fail();
    const again = () => buy(app, headers);
    const differing = miscounting((asked) => asked % 7);
    await check();
    expect((await app.row("transactions", row._id))?.state).toBe("broadcast");
    differing();
    const low = miscounting(() => 3);
    await check();
    expect((await app.row("transactions", row._id))?.state).toBe("failed");
    // No node has the bytes any more, and it is signed with a used nonce as long as the node says so.
    await chain.rpc("anvil_dropTransaction", [row.txHash]);
    const lied = again();
    await until(async () => (await latest()).nonce === 3);
    low();
    const wrong = await latest();
    await until(async () => {
      await app.t.run(({ db }) => db.patch("transactions", wrong._id, { replacedSince: 1 }));
      await check(wrong).catch(() => undefined);
      return (await app.row("transactions", wrong._id))?.state === "failed";
    });
    chain.miner.resume();
    await lied;
    expect([(await again()).status, (await received()) - before]).toEqual([200, ONE]);
  });

  test("that repair is told of drops what nobody can mine, of a wallet's as well", async ({ app }) => {
    const { body } = await app.post("/mcp/defi/connect", { userId: "has-an-absurd-nonce" });
    const address = String(body.address);
    expect((await buyOnce(app)).status).toBe(200);
    const { row } = (await settlementOf(app)) ?? fail();
    await app.t.run(async ({ db }) => {
      const wallet = (await db.query("wallets").collect()).find((one) => one.address === address);
      if (wallet === undefined) return;
      await db.patch("wallets", wallet._id, { nextNonce: 1_578 });
      const { _id, _creationTime, ...signed } = row;
      const { walletId, userId } = wallet;
      const request = { kind: "send" as const, token: "ETH" as const, toAddress: address, amount: "1" };
      const state = "broadcast" as const;
      await db.insert("transactions", { ...signed, walletId, userId, address, request, state, nonce: 1_577 });
    });
    expect(await app.t.action(internal.wallets.transactions.repair, { address })).toEqual({
      ...{ mined: 0, nextNonce: 0, dropped: 1, handedOut: 0, filled: 0 },
    });
  });

  test("is not repaired by a node that gives two answers, or that has forgotten what was mined", async ({
    app,
  }) => {
    expect((await buyOnce(app)).status).toBe(200);
    const repair = () => app.t.action(internal.wallets.transactions.repair, { address: RELAYER });
    const honest = lies(1);
    await expect(repair()).rejects.toThrow("gives two answers about this account: nothing was repaired");
    honest();
    const next = await nonceOf(RELAYER);
    await app.t.run(async (ctx) => {
      const relayer = (await ctx.db.query("wallets").collect()).find(({ kind }) => kind === "relayer");
      if (relayer !== undefined) await ctx.db.patch("wallets", relayer._id, { nextNonce: next + 40 });
      const settled = await ctx.db.query("transactions").first();
      if (settled !== null) await ctx.db.patch("transactions", settled._id, { nonce: next + 39 });
    });
    await expect(repair()).rejects.toThrow("does not know of transactions that were mined");
  });

  test("costs an account at most 48 fills in an hour, however often a node says it", async ({ app }) => {
    expect((await buyOnce(app)).status).toBe(200);
    const next = await nonceOf(RELAYER);
    const { row } = (await settlementOf(app)) ?? fail();
    // Every eighteenth nonce up to the thousandth is held by bytes that no node has.
    await app.t.run(async (ctx) => {
      const relayer = (await ctx.db.query("wallets").collect()).find(({ kind }) => kind === "relayer");
      if (relayer === undefined) return;
      await ctx.db.patch("wallets", relayer._id, { nextNonce: next + 170 });
      const { _id, _creationTime, ...fields } = row;
      for (let nonce = next + 16; nonce < next + 170; nonce += 17)
        await ctx.db.insert("transactions", { ...fields, state: "confirmed", nonce });
    });
    const repair = internal.wallets.transactions.repair;
    for (let visit = 0; visit < 4; visit++) await app.t.action(repair, { address: RELAYER });
    expect(await fills(app)).toHaveLength(48);
  });
});

describe("what a payment costs the relayer", () => {
  const baseFee = async (fee: bigint) => {
    await chain.rpc("anvil_setNextBlockBaseFeePerGas", [toHex(fee)]);
    await chain.miner.mine();
  };

  test.for([
    [
      500n * GWEI,
      "The network fee is far above the usual, and above what this service pays: nothing was signed",
    ],
    [15n * GWEI, "The network fee is too high at the moment to execute a signed payment: nothing was moved"],
  ] as const)(
    "is never more than it brings: at a base fee of %s wei nothing is carried out",
    async ([fee, error], { app }) => {
      const headers = versionTwo(await authorize(await payer(chain)));
      await chain.miner.pause();
      await baseFee(fee);
      const { status, body } = await buy(app, headers);
      expect([status, body.error]).toEqual([502, error]);
      expect(await app.rows("paymentClaims")).toEqual([]);
      await baseFee(1n);
    },
  );

  const MOOD = { free: 0n, always: 1n, never: 2n };
  /** A contract wallet with money in it. */
  async function freeRider() {
    const address = freshAddress();
    await place(chain, "FreeRider", address);
    await chain.fund(address, { USDC: 50n * ONE });
    const feels = (mood: keyof typeof MOOD) =>
      chain.rpc("anvil_setStorageAt", [
        address,
        pad("0x", { size: 32 }),
        pad(toHex(MOOD[mood]), { size: 32 }),
      ]);
    const by = stranger();
    const pays = async () => {
      const { message, signature, payload } = await authorize({ ...by, address });
      return { message, signature, payload };
    };
    return { address, feels, pays };
  }

  test("is nothing for a wallet that accepts its payment only where gas is free", async ({ app }) => {
    const { feels, pays } = await freeRider();
    await feels("free");
    const spent = await nonceOf(RELAYER);
    const { status, body } = await buy(app, versionTwo(await pays()));
    expect([status, body.reason]).toEqual([402, "invalid_exact_evm_payload_signature"]);
    expect(await nonceOf(RELAYER)).toBe(spent);
  });

  /** A payment that changes its mind once the relayer has sent it. */
  async function fails(app: WalletApp, { feels, pays }: Awaited<ReturnType<typeof freeRider>>) {
    const failures = await app.rows("relayerFailures");
    await feels("always");
    const headers = versionTwo(await pays());
    const earlier = (await settlementOf(app))?.txHash;
    await chain.miner.pause();
    const bought = buy(app, headers);
    await handedOut(app, earlier);
    await feels("never");
    chain.miner.resume();
    expect((await bought).status).toBe(402);
    expect(await app.rows("relayerFailures")).toHaveLength(failures.length + 1);
    await feels("always");
  }

  test("slows wallets of one make after three failures, and blocks none but those that have failed", async ({
    app,
  }) => {
    const [one, other, honest] = [await freeRider(), await freeRider(), await freeRider()];
    await fails(app, one);
    await fails(app, one);
    await fails(app, other);
    await honest.feels("always");
    const headers = versionTwo(await honest.pays());
    const slowed = await buy(app, headers);
    expect([slowed.status, Number(slowed.headers.get("retry-after"))]).toEqual([429, expect.any(Number)]);
    expect(Number(slowed.headers.get("retry-after"))).toBeLessThanOrEqual(60);
    expect((await buyOnce(app)).status).toBe(200);
    await app.t.run(async (ctx) => {
      for (const { _id, at } of await ctx.db.query("relayerFailures").collect())
        await ctx.db.patch("relayerFailures", _id, { at: at - 61_000 });
    });
    expect((await buy(app, headers)).status).toBe(200);
  });

  test("is ten failures in an hour at most, of accounts that move their dollar first as well; who has paid before is served", async ({
    app,
  }) => {
    const known = await payer(chain);
    expect((await buy(app, versionTwo(await authorize(known)))).status).toBe(200);
    const spent = await nonceOf(RELAYER);
    /** So many buy at once, and move their dollar when the relayer has sent what it dares to. */
    const wave = async (buyers: number, sent: number) => {
      const payers = await Promise.all(Array.from({ length: buyers }, () => payer(chain, ONE)));
      await chain.miner.pause();
      const bought = payers.map(async (from) => buy(app, versionTwo(await authorize(from))));
      await until(async () => {
        const rows = await app.rows("transactions");
        return rows.filter(({ state }) => state === "broadcast").length === sent;
      });
      for (const { address } of payers) await chain.rpc("anvil_dealERC20", [address, TOKENS.USDC, "0x0"]);
      chain.miner.resume();
      const statuses = (await Promise.all(bought)).map(({ status }) => status);
      return [402, 429].map((status) => statuses.filter((one) => one === status).length);
    };
    expect(await wave(5, 5)).toEqual([5, 0]);
    // No more are under way than the hour can bear.
    const [failed = 0, refusedInTime = 0] = await wave(7, 5);
    expect(failed + refusedInTime).toBe(7);
    const refused = await buyOnce(app);
    expect([refused.status, refused.body.error]).toEqual([429, expect.stringContaining("pay by transfer")]);
    expect([await nonceOf(RELAYER), await app.rows("relayerFailures")]).toEqual([
      spent + 10,
      expect.toSatisfy((rows: unknown[]) => rows.length === 10),
    ]);
    expect((await buy(app, versionTwo(await authorize(known)))).status).toBe(200);
  });

  test("ends after two payments of a wallet that were mined and failed", async ({ app }) => {
    const rider = await freeRider();
    const { pays } = rider;
    await fails(app, rider);
    await fails(app, rider);
    const spent = await nonceOf(RELAYER);
    const { status, body } = await buy(app, versionTwo(await pays()));
    expect([status, body.reason]).toEqual([402, "transaction_failed"]);
    expect(await nonceOf(RELAYER)).toBe(spent);
  });
});

function fail(): never {
  throw new Error("There is a settlement");
}
