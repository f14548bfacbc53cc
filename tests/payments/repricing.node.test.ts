import { parseTransaction } from "viem";
import { describe, expect } from "vitest";
import { until } from "../support/waits";
import { chain, isMined, usdcOf, useChain } from "../support/chain/chain";
import { type WalletApp } from "../support/chain/walletApp";
import {
  authorize,
  buy,
  createPaidApp,
  handedOut,
  headerOf,
  ONE,
  payer,
  settlementOf,
  versionTwo,
  test,
} from "./payer";
import { counting, intercept } from "../support/outside";
import { answering } from "../support/chain/rpc";

/** The chain's fees outgrow a settlement that is on its way: it is handed out again for more, and pays once. */

useChain();

/** The next block asks for so many times what the settlement offers. */
async function mineDear(app: WalletApp, times: bigint): Promise<void> {
  const offered = await feesOf(app);
  const fee = offered.maxFeePerGas * times;
  await chain.rpc("anvil_setNextBlockBaseFeePerGas", [`0x${fee.toString(16)}`]);
  await chain.miner.mine();
}

async function feesOf(app: WalletApp) {
  const raw = (await settlementOf(app))?.rawTransaction ?? "";
  const { maxFeePerGas = 0n, maxPriorityFeePerGas = 0n, ...call } = parseTransaction(`0x${raw.slice(2)}`);
  return { maxFeePerGas, maxPriorityFeePerGas, call };
}

/** Signed bytes go no further, or, with `all`, nothing does until this is undone. */
function hold(all?: { until: Promise<void> }): () => void {
  return intercept(async ({ body }, pass) => {
    if (all !== undefined) await all.until;
    else if (body.includes("eth_sendRawTransaction")) throw new TypeError("connection refused");
    return pass();
  });
}

/** The chain shows no logs any more. */
const hideLogs = () => answering(({ method }) => (method === "eth_getLogs" ? { result: [] } : null));

describe("a settlement that the base fee has outgrown", () => {
  async function stuck() {
    const app = createPaidApp(chain);
    const from = await payer(chain);
    await chain.miner.pause();
    // What the test before has left is more than a payment is worth.
    await chain.rpc("anvil_setNextBlockBaseFeePerGas", ["0x1"]);
    await chain.miner.mine();
    const bought = buy(app, versionTwo(await authorize(from)), { userId: "alice" });
    return { app, from, bought, first: await handedOut(app), offered: await feesOf(app) };
  }

  test("is replaced by the same call with higher fees under the same nonce, and one of the two is mined", async () => {
    const { app, from, bought, first, offered } = await stuck();
    await mineDear(app, 3n);
    expect(await isMined(first.txHash)).toBe(false);
    await until(async () => (await settlementOf(app))?.row.replacement !== undefined);
    const second = await settlementOf(app);
    expect(second).toMatchObject({ nonce: first.nonce, relayer: first.relayer, outpriced: [first.txHash] });
    const raised = await feesOf(app);
    expect(raised.maxFeePerGas).toBeGreaterThan(3n * offered.maxFeePerGas);
    expect(raised.maxPriorityFeePerGas).toBeGreaterThan(offered.maxPriorityFeePerGas);
    const callOf = ({ call }: typeof raised) => [call.to, call.data, call.nonce, call.gas, call.chainId];
    expect(callOf(raised)).toEqual(callOf(offered));

    chain.miner.resume();
    const answer = await bought;
    expect(answer.status).toBe(200);
    expect(headerOf(answer, "payment-response")).toMatchObject({ transaction: second?.txHash });
    expect([await isMined(first.txHash), await isMined(second?.txHash ?? "")]).toEqual([false, true]);
    expect(await usdcOf(from.address)).toBe(4n * ONE);
    expect(await app.rows("paymentClaims")).toMatchObject([{ state: "delivered", txHash: second?.txHash }]);
  });

  test("is left alone while its fees still do", async () => {
    const { app, bought, first } = await stuck();
    const fee = (await feesOf(app)).maxFeePerGas;
    await chain.rpc("anvil_setNextBlockBaseFeePerGas", [`0x${fee.toString(16)}`]);
    const looks = counting("eth_maxPriorityFeePerGas");
    await until(() => looks() >= 3);
    expect(await settlementOf(app)).toMatchObject({ txHash: first.txHash, outpriced: [] });
    chain.miner.resume();
    expect((await bought).status).toBe(200);
    expect((await settlementOf(app))?.outpriced).toEqual([]);
  });

  test("and is mined after all, because its replacement never arrived, has paid", async () => {
    const { app, from, bought, first } = await stuck();
    const release = hold();
    await mineDear(app, 2n);
    await until(async () => (await settlementOf(app))?.row.replacement !== undefined);
    release();
    let goOn = () => {};
    hold({ until: new Promise((resolve) => (goOn = resolve)) });
    await chain.rpc("anvil_setNextBlockBaseFeePerGas", ["0x1"]);
    await chain.miner.mine();
    // The node forgets what it could not mine; others of a real network still have it.
    if (!(await isMined(first.txHash))) {
      await chain.rpc("eth_sendRawTransaction", [first.rawTransaction]);
      await chain.miner.mine();
    }
    expect(await isMined(first.txHash)).toBe(true);
    // As if it were further back than used authorizations are looked for: only the hash that was kept leads there.
    hideLogs();
    goOn();
    chain.miner.resume();
    const answer = await bought;
    expect(answer.status).toBe(200);
    expect(headerOf(answer, "payment-response")).toMatchObject({ transaction: first.txHash });
    expect(await usdcOf(from.address)).toBe(4n * ONE);
    expect(await app.rows("spentTransfers")).toMatchObject([{ txHash: first.txHash }]);
  });
});
