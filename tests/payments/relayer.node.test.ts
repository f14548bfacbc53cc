import { pad, toHex } from "viem";
import { describe, expect } from "vitest";
import { internal } from "../../convex/_generated/api";
import { until } from "../support/waiting";
import { place } from "../hostile/contracts";
import { chain, isMined, useChain, usdcOf, nonceOf } from "../support/chain";
import { answering } from "../support/rpc";
import { freshAddress, type WalletApp } from "../support/walletApp";
import {
  authorize,
  buy,
  ONE,
  payer,
  PLATFORM,
  RELAYER,
  settlementOf,
  stranger,
  versionTwo,
  test,
} from "./paying";

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
  await until(async () => {
    const hash = (await settlementOf(app))?.txHash;
    return hash !== undefined && (await chain.rpc("eth_getTransactionByHash", [hash])) !== null;
  });
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

  test("is noticed when nothing follows: delivered payments are looked at again", async ({ app }) => {
    const first = await lostPayment(app);
    const { row } = (await settlementOf(app)) ?? fail();
    expect(row.nextCheckAt).toBe((row.endedAt ?? 0) + 60_000);
    await app.t.run((ctx) => ctx.db.patch("transactions", row._id, { nextCheckAt: 1 }));
    await app.t.mutation(internal.wallets.transactions.outcome.followUpDue, {});
    chain.miner.resume();
    await until(() => isMined(first));
  });

  test("is repaired at an operator's word as well", async ({ app }) => {
    const first = await lostPayment(app);
    const repair = internal.wallets.transactions.repair;
    expect(await app.t.action(repair, { address: RELAYER.toLowerCase() })).toMatchObject({
      handedOut: 1,
      filled: 0,
    });
    chain.miner.resume();
    await until(() => isMined(first));
  });
});

describe("a node that lies about the relayer's nonce", () => {
  const lie = (nonce: bigint) =>
    answering(({ method }) => (method === "eth_getTransactionCount" ? { result: toHex(nonce) } : null));

  test("gets no signature for one far beyond what was signed; afterwards payments go on", async ({ app }) => {
    expect((await buyOnce(app)).status).toBe(200);
    const headers = versionTwo(await authorize(await payer(chain)));
    const honest = lie(5_000n);
    expect((await buy(app, headers)).status).toBe(502);
    honest();
    expect((await buy(app, headers)).status).toBe(200);
  });

  test("by a little leaves a gap, which is filled with nothing", async ({ app }) => {
    expect((await buyOnce(app)).status).toBe(200);
    const mined = BigInt(await nonceOf(RELAYER));
    const headers = versionTwo(await authorize(await payer(chain)));
    const honest = lie(mined + 2n);
    const bought = buy(app, headers);
    await until(async () => (await settlementOf(app))?.nonce === Number(mined + 2n));
    honest();
    expect((await bought).status).toBe(200);
    const fills = (await app.rows("transactions")).filter(({ request }) => request.kind === "fill");
    expect(fills.map(({ nonce = 0 }) => BigInt(nonce))).toEqual([mined, mined + 1n]);
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
    [
      15n * GWEI,
      "The network fee is too high at the moment to carry out a signed payment: nothing was moved",
    ],
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

  test("ends after two payments of a wallet that were mined and failed", async ({ app }) => {
    const { feels, pays } = await freeRider();
    for (let failures = 1; failures <= 2; failures++) {
      await feels("always");
      const headers = versionTwo(await pays());
      const earlier = (await settlementOf(app))?.txHash;
      await chain.miner.pause();
      const bought = buy(app, headers);
      await until(async () => {
        const hash = (await settlementOf(app))?.txHash;
        if (hash === undefined || hash === earlier) return false;
        return (await chain.rpc("eth_getTransactionByHash", [hash])) !== null;
      });
      await feels("never");
      chain.miner.resume();
      expect((await bought).status).toBe(402);
      expect(await app.rows("relayerFailures")).toHaveLength(failures);
    }
    await feels("always");
    const spent = await nonceOf(RELAYER);
    const { status, body } = await buy(app, versionTwo(await pays()));
    expect([status, body.reason]).toEqual([402, "transaction_failed"]);
    expect(await nonceOf(RELAYER)).toBe(spent);
  });
});

function fail(): never {
  throw new Error("There is a settlement");
}
